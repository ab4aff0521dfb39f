/// Paths, file names and arguments as the system has them: any bytes but NUL, carried in a `String`.
///
/// A `String` holds UTF-8 only. Each byte that is not part of valid UTF-8 therefore becomes one private-use character,
/// U+10FF00 to U+10FF7F, and becomes that byte again where a file is opened or a name is sent. A name that contains one of
/// these characters in UTF-8 is carried byte by byte, so two names never share a text.
package enum SystemPath {
    /// The text that stands for bytes of the system.
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

    /// The bytes that a text stands for.
    package static func bytes(of text: String) -> [UInt8] {
        guard !isUTF8(text) else { return Array(text.utf8) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            if let byte = byte(of: scalar) { bytes.append(byte) } else { bytes += String(scalar).utf8 }
        }
        return bytes
    }

    /// Whether all bytes that a text stands for are UTF-8.
    package static func isUTF8(_ text: String) -> Bool {
        // Every one of the characters begins with this byte, and few others do.
        !text.utf8.contains(0xF4) || !text.unicodeScalars.contains { byte(of: $0) != nil }
    }

    /// The byte that a character stands for, or `nil` for an ordinary one.
    package static func byte(of scalar: Unicode.Scalar) -> UInt8? {
        (first.value...first.value + 0x7F).contains(scalar.value) ? 0x80 | UInt8(scalar.value & 0x7F) : nil
    }

    /// Calls a closure with the path for a system call, ended by NUL. The pointer is valid during the call only.
    package static func with<Value>(_ path: String, _ body: (UnsafePointer<CChar>) -> Value) -> Value {
        guard !isUTF8(path) else { return unsafe path.withCString { unsafe body($0) } }
        let characters = bytes(of: path).map { CChar(bitPattern: $0) } + [0]
        return unsafe characters.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
    }

    private static let first: Unicode.Scalar = "\u{10FF00}"

    /// The character at an index, if it is valid UTF-8 and stands for itself.
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
