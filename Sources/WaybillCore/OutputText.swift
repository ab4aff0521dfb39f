extension Unicode.Scalar {
    /// Whether the character can change how a terminal or a log displays the text around it: control characters,
    /// direction marks, line separators, and invisible characters.
    package var controlsOutput: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }

    /// The escape sequence that is printed instead, such as `\u{1b}`.
    package var outputEscape: String { "\\u{\(String(value, radix: 16))}" }
}

extension String {
    /// The text without trailing spaces, and with a full stop unless it ends with a punctuation mark. For messages that
    /// contain text of a server or of a custom error.
    package var sentence: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        guard let last = text.last, !".!?…。！？".contains(last) else { return String(text) }
        return "\(text)."
    }
}
