extension Unicode.Scalar {
    /// Whether it can change how a terminal or a log shows the characters around it: control characters, direction marks,
    /// line separators, and characters that are invisible.
    package var controlsOutput: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }

    /// The escape that is printed instead: `\u{1b}`.
    package var outputEscape: String { "\\u{\(String(value, radix: 16))}" }
}
