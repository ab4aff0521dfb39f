import Foundation
import Glibc

/// A file of a form on the disk, with a generated name. The file name of the client is reported but not used.
final class StoredFile {
    /// The name of the form field.
    let name: String
    /// The file name of the client.
    let fileName: String
    let type: String
    let path: String
    private(set) var byteCount = 0
    private(set) var sha256 = ""
    private(set) var size: JPEGSize?

    private var descriptor: Int32
    private var digest = SHA256()

    init(in directory: String, name: String, fileName: String, type: String) throws {
        self.name = name
        self.fileName = fileName
        self.type = type
        path = "\(directory)/\(String(UInt64.random(in: .min ... .max), radix: 16)).part"
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ReceiverError("Creating a file in \(directory) failed: errno \(errno).") }
    }

    deinit { closeDescriptor() }

    func append(_ bytes: Span<UInt8>) throws {
        digest.update(bytes)
        byteCount += bytes.count
        try Self.write(bytes, to: descriptor)
    }

    static func write(_ bytes: Span<UInt8>, to descriptor: Int32) throws {
        try bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress!, rest.count)
                guard count > 0 || errno == EINTR else {
                    throw ReceiverError("Writing a file failed: errno \(errno).")
                }
                rest = rest.dropFirst(max(count, 0))
            }
        }
    }

    func finish() throws {
        closeDescriptor()
        sha256 = digest.finish().map { String(format: "%02x", $0) }.joined()
        size = try JPEGSize(file: path)
    }

    func remove() {
        closeDescriptor()
        unlink(path)
    }

    private func closeDescriptor() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    /// Checks that files can be created in a directory that the caller chose.
    static func checkDirectory(_ directory: String) throws {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory) else {
            throw ReceiverError("The directory \(directory) does not exist. Create it, or leave out --directory.")
        }
        guard isDirectory.boolValue else {
            throw ReceiverError("\(directory) is not a directory. Name one with --directory, or leave the option out.")
        }
        guard access(directory, W_OK | X_OK) == 0 else {
            throw ReceiverError("The directory \(directory) is not writable. Choose another one with --directory.")
        }
    }

    /// Creates a temporary directory with mode 0700.
    static func makeDirectory() throws -> String {
        let base = FileManager.default.temporaryDirectory.path
        var template = Array("\(base)/receiver-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw ReceiverError("Creating a temporary directory failed: errno \(errno).")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
