import WaybillCore

/// A value in a dictionary literal that becomes a form: a text, a number, a truth, a file, or a list or dictionary of these.
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
/// The order of the literal is kept, and so are names that occur twice.
public struct FormFieldValue: Sendable {
    enum Kind: Sendable {
        case part(@Sendable (String) -> MultipartPart)
        case list([FormFieldValue])
        case members([(name: String, value: FormFieldValue)])
    }

    let kind: Kind

    /// A text.
    public static func text(_ text: String) -> FormFieldValue { FormFieldValue(kind: .part { .text($0, text) }) }

    /// A text that is sent but never printed.
    public static func secret(_ text: String) -> FormFieldValue {
        FormFieldValue(kind: .part { .text($0, .secret(text)) })
    }

    /// A file, as ``MultipartPart/file(_:path:fileName:contentType:)`` takes it.
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

    /// A value as JSON, in one part.
    public static func json(_ value: some Encodable & Sendable) -> FormFieldValue {
        FormFieldValue(kind: .part { .json($0, value) })
    }

    /// Values under one name.
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
    /// A text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// A number, in digits.
    public init(integerLiteral value: Int) { self = .text(String(value)) }
    /// A number, as Swift prints it.
    public init(floatLiteral value: Double) { self = .text(String(value)) }
    /// `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .text(value ? "true" : "false") }
    /// Values under one name.
    public init(arrayLiteral elements: FormFieldValue...) { self = .list(elements) }
    /// Values under names of their own.
    public init(dictionaryLiteral elements: (String, FormFieldValue)...) {
        kind = .members(elements.map { (name: $0, value: $1) })
    }
}

extension MultipartForm: ExpressibleByDictionaryLiteral {
    /// Makes a form of fields, named in the style ``FieldNameStyle/brackets``.
    public init(dictionaryLiteral elements: (String, FormFieldValue)...) {
        self.init()
        for (name, value) in elements { append(name, value) }
    }

    /// Adds a field, or the fields of a list or dictionary.
    public mutating func append(_ name: String, _ value: FormFieldValue, style: FieldNameStyle = .brackets) {
        value.append(to: &parts, named: name, style)
    }
}
