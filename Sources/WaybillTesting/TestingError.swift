/// What is not as a test wants it to be: a form without a part, a transport that breaks its contract.
///
/// It is thrown, so that it fails a test in any framework; its description is the text to read there. No content of a part
/// is in it, for the logs of tests are read by many.
public struct TestingError: Error, Sendable {
    /// A kind of failure. Open: new ones may come with any release, so give a `switch` a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name, as it is printed.
        public let description: String
        package init(_ name: String) { description = name }
    }

    /// What kind of failure it is.
    public var code: Code
    /// What was wanted, and what is there.
    public var message: String
    /// The error underneath.
    public var cause: (any Error)?

    /// Describes a failure.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension TestingError.Code {
    /// The body is no form, or not a whole one; ``TestingError/cause`` is the parser's error.
    public static let notAForm = Self("notAForm")
    /// The transport was told not to keep bodies.
    public static let bodyNotKept = Self("bodyNotKept")
    /// The form has no part of that name.
    public static let noSuchPart = Self("noSuchPart")
    /// The form has several parts of that name.
    public static let severalParts = Self("severalParts")
    /// The content of a part is not UTF-8.
    public static let notText = Self("notText")
    /// A transport breaks its contract; the message has what it reported.
    public static let notConformant = Self("notConformant")
    /// The server of a conformance check could not do its part; ``TestingError/cause`` is its error.
    public static let serverFailed = Self("serverFailed")
}

extension TestingError: CustomStringConvertible {
    /// Code and message.
    public var description: String { "\(code): \(message)" }
}
