/// An error for an unmet expectation of a test: a form without a part, a transport that violates its contract.
///
/// It is thrown, so that it fails a test in any framework, and its description is the failure message. It never
/// contains the content of a part, because test logs are widely readable.
public struct TestingError: Error, Sendable {
    /// An error code. The set is open: releases may add new codes, so include a `default` in a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code, as printed.
        public let description: String
        package init(_ name: String) { description = name }
    }

    /// The error code.
    public var code: Code
    /// The expectation and the actual state.
    public var message: String
    /// The underlying error.
    public var cause: (any Error)?

    /// Creates an error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension TestingError.Code {
    /// The body is not a form, or not a complete one; ``TestingError/cause`` is the parser's error.
    public static let notAForm = Self("notAForm")
    /// The transport was created with `keepsBodies: false`.
    public static let bodyNotKept = Self("bodyNotKept")
    /// The form has no part with the name.
    public static let noSuchPart = Self("noSuchPart")
    /// The form has several parts with the name.
    public static let severalParts = Self("severalParts")
    /// The content of a part is not UTF-8.
    public static let notText = Self("notText")
    /// A transport violates its contract; the message lists the reported events.
    public static let notConformant = Self("notConformant")
    /// The server of a conformance check failed; ``TestingError/cause`` is its error.
    public static let serverFailed = Self("serverFailed")
}

extension TestingError: CustomStringConvertible {
    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}
