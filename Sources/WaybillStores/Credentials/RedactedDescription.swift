/// A type that shows only its `description`, which contains no secret, wherever it is printed, dumped or reflected.
public protocol RedactedDescription: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension RedactedDescription {
    /// The same as `description`.
    public var debugDescription: String { description }
    /// A mirror of the description only.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
