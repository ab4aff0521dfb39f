public import FoundationEssentials
import WaybillCore

/// An encoder that converts an `Encodable` value to the fields of a form.
///
/// ```swift
/// struct Order: Encodable { var id: Int; var tags: [String]; var due: Date }
/// try form.append(fields: order)                                   // id, tags[], tags[], due
/// try form.append(fields: order, encoder: FormFieldEncoder(style: .dots, keys: .snakeCase))
/// ```
///
/// Fields have the order in which the value encodes them, and the entries of a dictionary the order of their keys. An
/// empty list or dictionary yields no field.
public struct FormFieldEncoder: Sendable {
    /// The style of nested field names.
    public var style: FieldNameStyle
    /// The conversion of a type's keys to names. The keys of a dictionary are data and remain unchanged.
    public var keys: KeyStrategy
    /// The format of a `Date`.
    public var dates: DateStrategy
    /// The format of a `Bool`.
    public var bools: BoolStrategy
    /// The format of `Data`.
    public var data: DataStrategy
    /// The handling of `nil`.
    public var nils: NilStrategy
    /// The keys, before conversion, of members and dictionary entries whose values are sent but never printed.
    public var secrets: Set<String>

    /// The conversion of a type's keys to names.
    public enum KeyStrategy: Sendable {
        /// Keys are used unchanged.
        case asGiven
        /// `orderNumber` as `order_number`.
        case snakeCase
        /// `orderNumber` as `order-number`.
        case kebabCase
        /// `orderNumber` as `OrderNumber`.
        case capitalized
        /// `orderNumber` as `ORDERNUMBER`.
        case uppercased
        /// `orderNumber` as `ordernumber`.
        case lowercased
        /// Keys are converted by a closure.
        case custom(@Sendable (String) -> String)
    }

    /// The format of a `Date`.
    public enum DateStrategy: Sendable {
        /// `2026-11-21T14:39:50Z`.
        case iso8601
        /// Seconds since 1970, with a fraction if there is one.
        case secondsSince1970
        /// Whole milliseconds since 1970.
        case millisecondsSince1970
        /// The value that `Date` encodes itself: seconds since 2001.
        case deferredToDate
        /// Dates are converted by a closure.
        case custom(@Sendable (Date) -> String)
    }

    /// The format of a `Bool`.
    public enum BoolStrategy: Sendable {
        /// `true` and `false`.
        case words
        /// `1` and `0`, the default of Alamofire.
        case digits
        /// Values are converted by a closure.
        case custom(@Sendable (Bool) -> String)
    }

    /// The format of `Data`.
    public enum DataStrategy: Sendable {
        /// A text field in Base64.
        case base64
        /// A part with these bytes, without a file name.
        case part
        /// Data is converted by a closure.
        case custom(@Sendable (Data) -> String)
    }

    /// The handling of `nil`.
    public enum NilStrategy: Sendable {
        /// The field is omitted.
        case leftOut
        /// An empty text field.
        case empty
        /// The text `null`.
        case null
    }

    /// Creates an encoder.
    public init(
        style: FieldNameStyle = .brackets, keys: KeyStrategy = .asGiven, dates: DateStrategy = .iso8601,
        bools: BoolStrategy = .words, data: DataStrategy = .base64, nils: NilStrategy = .leftOut,
        secrets: Set<String> = []
    ) {
        self.style = style
        self.keys = keys
        self.dates = dates
        self.bools = bools
        self.data = data
        self.nils = nils
        self.secrets = secrets
    }

    /// Returns the fields of a value.
    ///
    /// - Throws: ``BodyError/Code/encodingFailed`` for a value without names (a single number, a list), for a number or
    ///   date that cannot be represented, and for any error thrown by the value itself, which becomes the cause.
    ///   ``BodyError/Code/nestedTooDeep`` for a value nested deeper than 64 levels, usually because it contains itself.
    public func parts(of value: some Encodable) throws(BodyError) -> [MultipartPart] {
        let output = FieldOutput(self)
        do {
            try output.encode(value, named: "", at: [], depth: 0, isSecret: false)
        } catch let error as BodyError {
            throw error
        } catch {
            throw BodyError(
                .encodingFailed, "The value cannot be encoded as form fields: \(BodyError.reason(of: error))",
                cause: error)
        }
        return output.parts
    }

    /// Encodes a value only to check its nesting depth, because Foundation's encoder does not limit it.
    static func checkDepth(of value: some Encodable) throws {
        let output = FieldOutput(FormFieldEncoder(), isDepthCheck: true)
        do {
            try output.encode(value, named: "", at: [], depth: 0, isSecret: false)
        } catch let error as BodyError where error.code == .nestedTooDeep {
            throw error
        } catch {
            // Any other error is reported in more detail by the actual encoder.
        }
    }
}

extension MultipartForm {
    /// Appends the fields of a value.
    ///
    /// - Throws: The error of ``FormFieldEncoder/parts(of:)``; the form is then unchanged.
    public mutating func append(
        fields value: some Encodable, encoder: FormFieldEncoder = FormFieldEncoder()
    ) throws(BodyError) {
        append(contentsOf: try encoder.parts(of: value))
    }
}

extension FormFieldEncoder.KeyStrategy {
    func name(for key: String) -> String {
        switch self {
        case .asGiven: key
        case .snakeCase: Self.words(of: key).joined(separator: "_")
        case .kebabCase: Self.words(of: key).joined(separator: "-")
        case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
        case .uppercased: key.uppercased()
        case .lowercased: key.lowercased()
        case .custom(let rename): rename(key)
        }
    }

    /// Splits a key into words: `myURLProperty` has three. A word begins at an upper-case letter that follows a
    /// lower-case letter, and at the last upper-case letter of a sequence that precedes a lower-case letter.
    private static func words(of key: String) -> [String] {
        let letters = Array(key)
        var words: [String] = []
        var word = ""
        for (index, letter) in letters.enumerated() {
            let followsSmall = index > 0 && !letters[index - 1].isUppercase
            let precedesSmall = index + 1 < letters.count && letters[index + 1].isLowercase
            if letter.isUppercase, !word.isEmpty, followsSmall || precedesSmall {
                words.append(word)
                word = ""
            }
            word += letter.lowercased()
        }
        return word.isEmpty ? words : words + [word]
    }
}

/// The style of the names of nested fields.
///
/// The members of `order`, and the two elements of its `tags`:
///
/// | style | member | elements |
/// | --- | --- | --- |
/// | ``brackets`` | `order[id]` | `order[tags][]`, `order[tags][]` |
/// | ``indexInBrackets`` | `order[id]` | `order[tags][0]`, `order[tags][1]` |
/// | ``noBrackets`` | `order[id]` | `order[tags]`, `order[tags]` |
/// | ``dots`` | `order.id` | `order.tags.0`, `order.tags.1` |
public enum FieldNameStyle: Sendable, Hashable, CaseIterable {
    /// Read by PHP, Rails and Express (`qs`). PHP cannot tell where an object in a list ends and the next one begins.
    case brackets
    /// Read by PHP and Express (`qs`); keeps the objects of a list apart.
    case indexInBrackets
    /// Elements repeat the name. Read by Go, Java servlets, Django and Flask.
    case noBrackets
    /// For servers that split names at dots.
    case dots

    func member(_ key: String, of name: String) -> String {
        guard !name.utf8.isEmpty else { return key }
        return self == .dots ? "\(name).\(key)" : "\(name)[\(key)]"
    }

    func element(_ index: Int, of name: String) -> String {
        switch self {
        case .brackets: "\(name)[]"
        case .indexInBrackets: "\(name)[\(index)]"
        case .noBrackets: name
        case .dots: "\(name).\(index)"
        }
    }
}
