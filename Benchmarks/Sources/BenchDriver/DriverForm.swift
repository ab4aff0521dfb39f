import Glibc

/// The form that all drivers send: three fields and a file.
package enum DriverForm {
    package static let fields = [
        (name: "TOKEN", value: "0123456789abcdef0123456789abcdef"), (name: "BUSINESSNO", value: "20260101-000042"),
        (name: "DOCTYPE", value: "IDCARD"),
    ]

    package static let boundary = "----------------------------7d41b838504d8a12"

    /// The bytes before the content of the file.
    package static var head: String {
        let fields = fields.map { field in
            "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(field.name)\"\r\n\r\n\(field.value)\r\n"
        }
        return fields.joined() + "--\(boundary)\r\nContent-Disposition: form-data; name=\"FILE\"; filename=\"file\"\r\n"
            + "Content-Type: application/octet-stream\r\n\r\n"
    }

    /// The bytes after the content of the file.
    package static var tail: String { "\r\n--\(boundary)--\r\n" }
}

/// Reads the bytes of the form sequentially, for clients that do not encode forms.
package struct FormReader: ~Copyable {
    private var front: ArraySlice<UInt8>
    private let file: Int32
    private var fileLeft: Int
    private var back: ArraySlice<UInt8>

    /// The number of unread bytes.
    package var left: Int { front.count + fileLeft + back.count }

    /// - Throws: An error if the file cannot be opened.
    package init(path: String) throws {
        file = open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard file >= 0, fstat(file, &status) == 0 else { throw UnreadableFile(path: path) }
        fileLeft = Int(status.st_size)
        front = Array(DriverForm.head.utf8)[...]
        back = Array(DriverForm.tail.utf8)[...]
    }

    deinit { close(file) }

    /// Fills a buffer, across the boundaries of head, file and tail.
    ///
    /// - Returns: The number of bytes written. It is less than the capacity only at the end.
    package mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = Self.move(&front, to: buffer)
        while fileLeft > 0, count < buffer.count {
            let wanted = min(fileLeft, buffer.count - count)
            let taken = Glibc.read(file, buffer.baseAddress! + count, wanted)
            guard taken > 0 else { fatalError("The file shrank while it was read.") }
            count += taken
            fileLeft -= taken
        }
        count += Self.move(&back, to: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
        return count
    }

    private static func move(_ bytes: inout ArraySlice<UInt8>, to buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(bytes.count, buffer.count)
        buffer.copyBytes(from: bytes.prefix(count))
        bytes = bytes.dropFirst(count)
        return count
    }
}

package struct UnreadableFile: Error {
    package var path: String
}
