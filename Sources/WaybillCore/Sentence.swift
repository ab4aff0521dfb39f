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
