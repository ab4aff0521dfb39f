extension MultipartPartHead {
    /// What the sender calls the file, as a name that can do no harm in a folder; `nil` if nothing is left of it.
    ///
    /// It is the last component of the path, for senders with slashes and for those with backslashes, without control
    /// and invisible characters, without dots and blanks at its ends, with `_` for what shells and file systems give a
    /// meaning to, and at most 180 bytes long. It still is the sender's word: an ending says nothing about the content.
    public var safeFileName: String? { fileName.flatMap { SafeFileName.of($0) } }
}

/// File names from outside, made harmless.
enum SafeFileName {
    /// Leaves room below the 255 bytes of most file systems for a number.
    static let longest = 180

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

    /// `card.jpg` becomes `card-2.jpg`.
    static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, ending) = split(name)
        return "\(stem)-\(number)\(ending)"
    }

    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > longest else { return name }
        let (stem, ending) = split(name)
        var cut = ""
        for character in stem.unicodeScalars {
            guard cut.utf8.count + String(character).utf8.count + ending.utf8.count <= longest else { break }
            cut.unicodeScalars.append(character)
        }
        return cut + ending
    }

    /// An ending is a short one; anything longer is part of the name.
    private static func split(_ name: String) -> (stem: String, ending: String) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 16 else {
            return (name, "")
        }
        return (String(name[..<dot]), String(name[dot...]))
    }
}
