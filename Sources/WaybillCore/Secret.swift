/// A string that is sent but never printed.
///
/// A value is marked as secret where it enters the program, so code that logs it later needs no special care:
///
/// ```swift
/// form.append(.text("TOKEN", .secret(token)))
/// print(Secret.secret("s3cr3t"))        // <redacted>
/// ```
public struct Secret: Sendable, Hashable {
    /// The string itself. It is never part of a description, a log line or an error.
    public let value: String

    /// Marks a string as secret.
    public static func secret(_ value: String) -> Secret { Secret(value: value) }

    /// The text that is printed in place of a secret.
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
    /// No children, so `dump` and debuggers that walk mirrors show nothing either.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
