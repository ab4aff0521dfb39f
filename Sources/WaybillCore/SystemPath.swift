import Glibc

/// Conversion between `String` and the system's paths, file names and arguments, which may contain any byte except NUL.
///
/// A `String` holds only valid Unicode. Each byte that is not part of valid UTF-8 is therefore mapped to a private-use
/// character, U+10FF00 to U+10FF7F, and mapped back when a file is opened or a name is sent. A name that contains one
/// of these characters in UTF-8 is mapped byte by byte, so two different names never map to the same string.
package enum SystemPath {
    /// Returns the string that represents the system's bytes.
    package static func text(of bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        if let text = String(validating: bytes, as: UTF8.self), isUTF8(text) { return text }
        var scalars = String.UnicodeScalarView()
        var index = 0
        while index < bytes.count {
            if let scalar = scalar(at: index, in: bytes) {
                scalars.append(scalar)
                index += UTF8.width(scalar)
            } else {
                scalars.append(Unicode.Scalar(first.value + UInt32(bytes[index] & 0x7F))!)
                index += 1
            }
        }
        return String(scalars)
    }

    /// Returns the bytes that a string represents.
    package static func bytes(of text: String) -> [UInt8] {
        guard !isUTF8(text) else { return Array(text.utf8) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            if let byte = byte(of: scalar) { bytes.append(byte) } else { bytes += String(scalar).utf8 }
        }
        return bytes
    }

    /// Returns whether all bytes that a string represents are valid UTF-8.
    package static func isUTF8(_ text: String) -> Bool {
        // Each of these characters starts with the byte 0xF4 in UTF-8, and few others do.
        !text.utf8.contains(0xF4) || !text.unicodeScalars.contains { byte(of: $0) != nil }
    }

    /// Returns the byte that a character represents, or `nil` for an ordinary character.
    package static func byte(of scalar: Unicode.Scalar) -> UInt8? {
        (first.value...first.value + 0x7F).contains(scalar.value) ? 0x80 | UInt8(scalar.value & 0x7F) : nil
    }

    /// Calls a closure with a NUL-terminated path for a system call. The pointer is valid only during the call.
    package static func with<Value>(_ path: String, _ body: (UnsafePointer<CChar>) -> Value) -> Value {
        guard !isUTF8(path) else { return unsafe path.withCString { unsafe body($0) } }
        let characters = bytes(of: path).map { CChar(bitPattern: $0) } + [0]
        return unsafe characters.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
    }

    /// The directory for temporary files: `TMPDIR`, or else `/tmp`.
    package static var temporaryDirectory: String {
        guard let value = unsafe getenv("TMPDIR"), unsafe value.pointee != 0 else { return "/tmp" }
        return unsafe text(of: UnsafeBufferPointer(start: value, count: strlen(value)).map(UInt8.init(bitPattern:)))
    }

    private static let first: Unicode.Scalar = "\u{10FF00}"

    /// Returns the character at an index if it is valid UTF-8 and does not represent a byte.
    private static func scalar(at index: Int, in bytes: [UInt8]) -> Unicode.Scalar? {
        let width =
            switch bytes[index] {
            case ..<0x80: 1
            case 0xC2..<0xE0: 2
            case 0xE0..<0xF0: 3
            case 0xF0..<0xF5: 4
            default: 0
            }
        guard width > 0, index + width <= bytes.count,
            let scalar = String(validating: bytes[index..<index + width], as: UTF8.self)?.unicodeScalars.first,
            byte(of: scalar) == nil
        else { return nil }
        return scalar
    }
}
