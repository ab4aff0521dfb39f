/// A text that is sent but never printed.
///
/// A secret is marked where it enters, so that nobody has to remember it where something is logged:
///
/// ```swift
/// form.append(.text("TOKEN", .secret(token)))
/// print(Secret.secret("s3cr3t"))        // <redacted>
/// ```
public struct Secret: Sendable, Hashable {
    /// The text itself. Reading it is a decision: it is nowhere part of a description, a log line or an error.
    public let value: String

    /// Marks a text as secret.
    public static func secret(_ value: String) -> Secret { Secret(value: value) }

    /// What stands in the place of a secret wherever something is printed.
    public static let placeholder = "<redacted>"

    private init(value: String) {
        self.value = value
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always ``placeholder``.
    public var description: String { Self.placeholder }
    /// Always ``placeholder``.
    public var debugDescription: String { Self.placeholder }
    /// No children: `dump` and debuggers that walk mirrors see nothing either.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
