/// A result builder that collects the parts of a form, with support for `if`, `switch` and `for`.
@resultBuilder
public enum MultipartFormBuilder {
    /// Adds a part.
    public static func buildExpression(_ part: MultipartPart) -> [MultipartPart] { [part] }
    /// Adds several parts.
    public static func buildExpression(_ parts: [MultipartPart]) -> [MultipartPart] { parts }
    /// Adds the parts of another form.
    public static func buildExpression(_ form: MultipartForm) -> [MultipartPart] { form.parts }
    /// Adds a part unless it is `nil`.
    public static func buildExpression(_ part: MultipartPart?) -> [MultipartPart] { part.map { [$0] } ?? [] }
    /// Concatenates the parts.
    public static func buildBlock(_ parts: [MultipartPart]...) -> [MultipartPart] { parts.flatMap(\.self) }
    /// Supports `if` without `else`.
    public static func buildOptional(_ parts: [MultipartPart]?) -> [MultipartPart] { parts ?? [] }
    /// Supports the first branch of `if` and `switch`.
    public static func buildEither(first parts: [MultipartPart]) -> [MultipartPart] { parts }
    /// Supports the second branch of `if` and `switch`.
    public static func buildEither(second parts: [MultipartPart]) -> [MultipartPart] { parts }
    /// Supports `for`.
    public static func buildArray(_ parts: [[MultipartPart]]) -> [MultipartPart] { parts.flatMap(\.self) }
    /// Supports `if #available`.
    public static func buildLimitedAvailability(_ parts: [MultipartPart]) -> [MultipartPart] { parts }
}

extension MultipartForm {
    /// Creates a form from the parts that a closure lists.
    ///
    /// ```swift
    /// let form = MultipartForm {
    ///     MultipartPart.text("DOCTYPE", "ID")
    ///     if let token { MultipartPart.text("TOKEN", .secret(token)) }
    ///     for path in paths { MultipartPart.file("FILE", path: path) }
    ///     [.text("LAST", "1"), .text("LAST", "2")]
    /// }
    /// ```
    ///
    /// Write `MultipartPart.` explicitly: a line that begins with a dot would continue the line above.
    public init(@MultipartFormBuilder _ parts: () throws -> [MultipartPart]) rethrows {
        self.init(try parts())
    }
}
