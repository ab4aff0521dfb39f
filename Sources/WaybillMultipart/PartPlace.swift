import WaybillCore

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
        if scalar.controlsOutput {
            result += scalar.outputEscape
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return result + (text.unicodeScalars.dropFirst(limit).isEmpty ? "\"" : "…\"")
}
