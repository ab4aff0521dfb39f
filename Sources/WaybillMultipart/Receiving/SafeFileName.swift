extension MultipartPartHead {
    /// The file name of the part, made safe for use in a directory; `nil` if nothing is left of it.
    ///
    /// It is the last component of the path, with slashes or backslashes as separators. Control and invisible
    /// characters are removed, as are dots, spaces and leading hyphens at its ends. Characters with a special meaning
    /// to shells and file systems become `_`. The length is at most 180 bytes. The name still comes from the sender:
    /// its extension does not prove the type of the content.
    public var safeFileName: String? { fileName.flatMap { SafeFileName.of($0) } }
}

/// Conversion of untrusted file names to safe ones.
enum SafeFileName {
    /// The maximum length, which leaves room for a number below the 255 bytes of most file systems.
    static let maxLength = 180

    static func of(_ text: String) -> String? {
        let scalars = text.unicodeScalars
        let start = scalars.lastIndex { $0 == "/" || $0 == "\\" }.map { scalars.index(after: $0) }
        var kept = String.UnicodeScalarView()
        for scalar in scalars[(start ?? scalars.startIndex)...] {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: break
            case .spaceSeparator: kept.append(" ")
            default: kept.append(":*?\"<>|$`'&;!~".unicodeScalars.contains(scalar) ? "_" : scalar)
            }
        }
        let isEdge = { (scalar: Unicode.Scalar) in scalar == "." || scalar == " " || scalar == "-" }
        var name = kept.drop(while: isEdge)
        while let last = name.last, last == "." || last == " " { name.removeLast() }
        let result = shortened(String(String.UnicodeScalarView(name)))
        return result.isEmpty ? nil : result
    }

    /// Inserts a number: `card.jpg` becomes `card-2.jpg`.
    static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, fileExtension) = split(name)
        return "\(stem)-\(number)\(fileExtension)"
    }

    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > maxLength else { return name }
        let (stem, fileExtension) = split(name)
        var cut = ""
        for character in stem.unicodeScalars {
            guard cut.utf8.count + String(character).utf8.count + fileExtension.utf8.count <= maxLength else { break }
            cut.unicodeScalars.append(character)
        }
        return cut + fileExtension
    }

    /// Splits off the extension if it has at most 16 bytes with its dot; a longer one is part of the name.
    private static func split(_ name: String) -> (stem: String, fileExtension: String) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 16 else {
            return (name, "")
        }
        return (String(name[..<dot]), String(name[dot...]))
    }
}
