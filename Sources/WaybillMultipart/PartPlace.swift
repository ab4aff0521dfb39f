/// Which part is meant, for people: `part 2 ("FILE")`.
package struct PartPlace: Sendable, Hashable, CustomStringConvertible {
    package let index: Int
    package let name: String

    package init(index: Int, name: String) {
        self.index = index
        self.name = name
    }

    package var description: String { "part \(index + 1) (\(quoted(name)))" }
}

/// A foreign text made fit to be printed: quoted, shortened, and without characters that move a cursor, colour a
/// terminal or turn the direction of writing.
package func quoted(_ text: String, limit: Int = 80) -> String {
    var result = "\""
    for scalar in text.unicodeScalars.prefix(limit) {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF:
            result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        default:
            result.unicodeScalars.append(scalar)
        }
    }
    return result + (text.unicodeScalars.dropFirst(limit).isEmpty ? "\"" : "…\"")
}
