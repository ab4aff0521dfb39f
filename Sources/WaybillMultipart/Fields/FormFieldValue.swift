import WaybillCore

/// A value in a dictionary literal that becomes a form: a string, number, Boolean value or file, or a list or
/// dictionary of these.
///
/// ```swift
/// let form: MultipartForm = [
///     "DOCTYPE": "ID",
///     "TOKEN": .secret(token),
///     "copies": 2,
///     "owner": ["name": "张三", "phones": ["1", "2"]],     // owner[name], owner[phones][], owner[phones][]
///     "FILE": .file(path: "front.jpg"),
/// ]
/// ```
///
/// The order of the literal is preserved, and so are repeated names.
public struct FormFieldValue: Sendable {
    enum Kind: Sendable {
        case part(@Sendable (String) -> MultipartPart)
        case list([FormFieldValue])
        case members([(name: String, value: FormFieldValue)])
    }

    let kind: Kind

    /// A text field.
    public static func text(_ text: String) -> FormFieldValue { FormFieldValue(kind: .part { .text($0, text) }) }

    /// A text field whose value is sent but never printed.
    public static func secret(_ text: String) -> FormFieldValue {
        FormFieldValue(kind: .part { .text($0, .secret(text)) })
    }

    /// A file; see ``MultipartPart/file(_:path:fileName:contentType:)``.
    public static func file(path: String, fileName: String? = nil, contentType: String? = nil) -> FormFieldValue {
        FormFieldValue(kind: .part { .file($0, path: path, fileName: fileName, contentType: contentType) })
    }

    /// Bytes from memory.
    public static func data(
        _ bytes: some Sequence<UInt8>, fileName: String? = nil, contentType: String? = nil
    ) -> FormFieldValue {
        let bytes = Array(bytes)
        return FormFieldValue(kind: .part { .data($0, bytes, fileName: fileName, contentType: contentType) })
    }

    /// A value encoded as JSON in one part.
    public static func json(_ value: some Encodable & Sendable) -> FormFieldValue {
        FormFieldValue(kind: .part { .json($0, value) })
    }

    /// Several values under the same name.
    public static func list(_ values: [FormFieldValue]) -> FormFieldValue { FormFieldValue(kind: .list(values)) }

    func append(to parts: inout [MultipartPart], named name: String, _ style: FieldNameStyle) {
        switch kind {
        case .part(let make): parts.append(make(name))
        case .list(let values):
            for (index, value) in values.enumerated() {
                value.append(to: &parts, named: style.element(index, of: name), style)
            }
        case .members(let members):
            for member in members {
                member.value.append(to: &parts, named: style.member(member.name, of: name), style)
            }
        }
    }
}

extension FormFieldValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates a text field.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Creates a field with the decimal digits of a number.
    public init(integerLiteral value: Int) { self = .text(String(value)) }
    /// Creates a field with a number as printed by Swift.
    public init(floatLiteral value: Double) { self = .text(String(value)) }
    /// Creates a field with the text `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .text(value ? "true" : "false") }
    /// Creates several values under the same name.
    public init(arrayLiteral elements: FormFieldValue...) { self = .list(elements) }
    /// Creates nested fields with individual names.
    public init(dictionaryLiteral elements: (String, FormFieldValue)...) {
        kind = .members(elements.map { (name: $0, value: $1) })
    }
}

extension MultipartForm: ExpressibleByDictionaryLiteral {
    /// Creates a form from fields whose nested names have the style ``FieldNameStyle/brackets``.
    public init(dictionaryLiteral elements: (String, FormFieldValue)...) {
        self.init()
        for (name, value) in elements { append(name, value) }
    }

    /// Appends a field, or the fields of a list or dictionary.
    public mutating func append(_ name: String, _ value: FormFieldValue, style: FieldNameStyle = .brackets) {
        value.append(to: &parts, named: name, style)
    }
}
