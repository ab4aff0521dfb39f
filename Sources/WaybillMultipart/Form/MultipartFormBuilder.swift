/// Collects the parts that a closure names, with `if`, `switch` and `for` among them.
@resultBuilder
public enum MultipartFormBuilder {
    /// A part.
    public static func buildExpression(_ part: MultipartPart) -> [MultipartPart] { [part] }
    /// Some parts.
    public static func buildExpression(_ parts: [MultipartPart]) -> [MultipartPart] { parts }
    /// The parts of another form.
    public static func buildExpression(_ form: MultipartForm) -> [MultipartPart] { form.parts }
    /// A part, if there is one.
    public static func buildExpression(_ part: MultipartPart?) -> [MultipartPart] { part.map { [$0] } ?? [] }
    /// One after the other.
    public static func buildBlock(_ parts: [MultipartPart]...) -> [MultipartPart] { parts.flatMap(\.self) }
    /// `if` without `else`.
    public static func buildOptional(_ parts: [MultipartPart]?) -> [MultipartPart] { parts ?? [] }
    /// The one side of `if` and `switch`.
    public static func buildEither(first parts: [MultipartPart]) -> [MultipartPart] { parts }
    /// The other side.
    public static func buildEither(second parts: [MultipartPart]) -> [MultipartPart] { parts }
    /// `for`.
    public static func buildArray(_ parts: [[MultipartPart]]) -> [MultipartPart] { parts.flatMap(\.self) }
    /// `if #available`.
    public static func buildLimitedAvailability(_ parts: [MultipartPart]) -> [MultipartPart] { parts }
}

extension MultipartForm {
    /// Makes a form of what a closure names.
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
    /// Write `MultipartPart.` in front: a line that begins with a dot would belong to the line above.
    public init(@MultipartFormBuilder _ parts: () throws -> [MultipartPart]) rethrows {
        self.init(try parts())
    }
}
