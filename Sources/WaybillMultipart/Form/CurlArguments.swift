import WaybillCore

/// The arguments with which curl(1) sends the same parts.
struct CurlArguments {
    /// The arguments, quoted for a shell: one option and its value per line.
    private(set) var lines: [String] = []
    /// The differences that curl cannot express.
    private(set) var remarks: [String] = []

    init(_ form: MultipartForm) {
        if form.compatibility.escaping == .backslash { lines.append("--form-escape") }
        if form.compatibility.escaping == .percent || form.compatibility.addsExtendedFileName {
            remarks.append("curl escapes names as browsers do, not as this form does.")
        }
        for index in form.order.indices(of: form.parts) {
            let location = PartLocation(index: index, name: form.parts[index].name)
            if form.parts[index].name.utf8.contains(UInt8(ascii: "=")) {
                remarks.append("\(location) is omitted. curl does not support names that contain =.")
            } else {
                add(form.parts[index], form, at: location)
            }
        }
    }

    private mutating func add(_ part: MultipartPart, _ form: MultipartForm, at location: PartLocation) {
        if part.followsContent {
            remarks.append("\(location) derives type and name from its content. curl derives them from the path.")
        }
        var part = part
        part.contentType = part.contentType ?? part.typeFromName(form.contentTypes)
        let isPlain = part.fileName == nil && part.contentType == nil && part.headers.isEmpty
        switch part.content {
        case .text(let text) where isPlain:
            addString(part, String(decoding: FormText.withNormalLineBreaks(text), as: UTF8.self), at: location)
        case .secret where isPlain, .rawText(_, isSecret: true) where isPlain:
            addString(part, Secret.placeholder, at: location)
        case .rawText(let bytes, isSecret: false) where isPlain: addString(part, bytes, at: location)
        case .text(let text):
            addValue(part, String(decoding: FormText.withNormalLineBreaks(text), as: UTF8.self), at: location)
        case .secret, .rawText(_, isSecret: true): addValue(part, Secret.placeholder, at: location)
        case .rawText(let bytes, isSecret: false): addValue(part, bytes, at: location)
        case .encoding(let encode):
            guard let bytes = try? encode() else {
                return remarks.append("\(location) is omitted. Its value cannot be encoded.")
            }
            addValue(part, bytes, at: location)
        case .file(let path, nil):
            guard !path.utf8.contains(0) else {
                return remarks.append("\(location) is omitted. Its path contains a NUL.")
            }
            addFormOption(part, "@\(Self.inQuotes(Self.path(path)))")
        case .file(let path, let range?):
            addFormOption(part, "@\(Self.inQuotes(Self.path(path)))")
            remarks.append(
                "\(location) is bytes \(range.lowerBound)..<\(range.upperBound) of its file. curl sends the whole file."
            )
        case .bytes(let bytes): addPlaceholder(part, "\(bytes.count) bytes from memory", at: location)
        case .stream: addPlaceholder(part, "a stream", at: location)
        case .preparing: addPlaceholder(part, "prepared content", at: location)
        case .refused: remarks.append("\(location) is omitted. It cannot be sent.")
        }
    }

    /// Adds a field whose value contains no character that is special to curl.
    private mutating func addString(_ part: MultipartPart, _ bytes: [UInt8], at location: PartLocation) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return remarks.append("\(location) is omitted. Its text is not UTF-8.")
        }
        addString(part, text, at: location)
    }

    private mutating func addString(_ part: MultipartPart, _ text: String, at location: PartLocation) {
        guard !text.utf8.contains(0), !part.name.utf8.contains(0) else {
            return remarks.append("\(location) is omitted. A command line cannot contain a NUL.")
        }
        lines.append("--form-string \(ShellWord.quoted("\(Self.name(of: part))=\(text)"))")
    }

    private mutating func addValue(_ part: MultipartPart, _ bytes: [UInt8], at location: PartLocation) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return remarks.append("\(location) is omitted. Its text is not UTF-8.")
        }
        addValue(part, text, at: location)
    }

    private mutating func addValue(_ part: MultipartPart, _ text: String, at location: PartLocation) {
        guard !text.utf8.contains(0) else {
            return remarks.append("\(location) is omitted. A command line cannot contain a NUL.")
        }
        addFormOption(part, Self.inQuotes(text))
    }

    /// Adds a placeholder file for content that exists only in the program.
    private mutating func addPlaceholder(_ part: MultipartPart, _ what: String, at location: PartLocation) {
        var named = part
        named.fileName = part.fileName ?? "data"
        addFormOption(named, "@\(Self.inQuotes("<\(what)>"))")
        remarks.append("\(location) is \(what). Replace the placeholder with a file.")
    }

    private mutating func addFormOption(_ part: MultipartPart, _ content: String) {
        var word = "\(Self.name(of: part))=\(content)"
        if let type = part.contentType { word += ";type=\(type)" }
        if let fileName = part.fileName { word += ";filename=\(Self.inQuotes(fileName))" }
        for header in part.headers { word += ";headers=\(Self.inQuotes("\(header)"))" }
        lines.append("-F \(ShellWord.quoted(word))")
    }

    // curl escapes the line breaks of a name, but does not normalize them to CRLF.
    private static func name(of part: MultipartPart) -> String {
        String(decoding: FormText.withNormalLineBreaks(part.name), as: UTF8.self)
    }

    // curl interprets a lone `-` as standard input.
    private static func path(_ path: String) -> String { path == "-" ? "./-" : path }

    /// In double quotes, curl interprets only `\"` and `\\`.
    private static func inQuotes(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }
}

/// Quoting of words for a shell.
package enum ShellWord {
    /// Returns a string as one shell word in single quotes. If it contains control characters or directional marks, it
    /// is written as `$'…'`, which bash, ksh, zsh and POSIX since 2024 read, so that the output is one line and cannot
    /// affect a terminal.
    package static func quoted(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.controlsOutput) else {
            return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
        }
        var word = "$'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'", "\\": word += "\\\(scalar)"
            case "\n": word += "\\n"
            case "\r": word += "\\r"
            case _ where scalar.controlsOutput:
                // Octal escapes with three digits per byte, so that a following digit is not read as a fourth.
                for byte in String(scalar).utf8 {
                    let digits = String(byte, radix: 8)
                    word += "\\" + String(repeating: "0", count: 3 - digits.utf8.count) + digits
                }
            default: word.unicodeScalars.append(scalar)
            }
        }
        return word + "'"
    }
}

extension MultipartForm {
    /// The `-F` and `--form-string` arguments of this form, and remarks on what curl cannot express.
    package var curlArguments: (lines: [String], remarks: [String]) {
        let arguments = CurlArguments(self)
        return (arguments.lines, arguments.remarks)
    }
}
