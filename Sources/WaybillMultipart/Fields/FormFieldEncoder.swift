public import FoundationEssentials
import WaybillCore

/// Makes the fields of a form of any `Encodable` value.
///
/// ```swift
/// struct Order: Encodable { var id: Int; var tags: [String]; var due: Date }
/// try form.append(fields: order)                                   // id, tags[], tags[], due
/// try form.append(fields: order, encoder: FormFieldEncoder(style: .dots, keys: .snakeCase))
/// ```
///
/// Fields come in the order in which the value encodes them, the entries of a dictionary in the order of their keys. An
/// empty list or dictionary gives no field.
public struct FormFieldEncoder: Sendable {
    /// How the names of nested fields are written.
    public var style: FieldNameStyle
    /// How the keys of a type become names. The keys of a dictionary are data and stay as they are.
    public var keys: KeyStrategy
    /// How a `Date` is written.
    public var dates: DateStrategy
    /// How a `Bool` is written.
    public var bools: BoolStrategy
    /// How `Data` is written.
    public var data: DataStrategy
    /// What becomes of `nil`.
    public var nils: NilStrategy
    /// Members and entries of dictionaries whose texts are sent but never printed, by their key before it is renamed.
    public var secrets: Set<String>

    /// How the keys of a type become names.
    public enum KeyStrategy: Sendable {
        /// As they are.
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
        /// By a closure.
        case custom(@Sendable (String) -> String)
    }

    /// How a `Date` is written.
    public enum DateStrategy: Sendable {
        /// `2026-11-21T14:39:50Z`.
        case iso8601
        /// Seconds since 1970, with a fraction where there is one.
        case secondsSince1970
        /// Whole milliseconds since 1970.
        case millisecondsSince1970
        /// As `Date` encodes itself: seconds since 2001.
        case deferredToDate
        /// By a closure.
        case custom(@Sendable (Date) -> String)
    }

    /// How a `Bool` is written.
    public enum BoolStrategy: Sendable {
        /// `true` and `false`.
        case words
        /// `1` and `0`, which is Alamofire's default.
        case digits
        /// By a closure.
        case custom(@Sendable (Bool) -> String)
    }

    /// How `Data` is written.
    public enum DataStrategy: Sendable {
        /// As Base64 in a text.
        case base64
        /// As a part with these bytes, without file name.
        case part
        /// By a closure.
        case custom(@Sendable (Data) -> String)
    }

    /// What becomes of `nil`.
    public enum NilStrategy: Sendable {
        /// There is no such field.
        case leftOut
        /// An empty text.
        case empty
        /// The text `null`.
        case null
    }

    /// Describes how values are written.
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

    /// The fields of a value.
    ///
    /// - Throws: ``BodyError/Code/encodingFailed`` for a value without names (a single number, a list), for a number or a
    ///   date that is none, and for whatever the value itself throws, which is the cause. ``BodyError/Code/nestedTooDeep`` for one
    ///   nested deeper than 64 levels, mostly because it contains itself.
    public func parts(of value: some Encodable) throws(BodyError) -> [MultipartPart] {
        let output = FieldOutput(self)
        do {
            try output.encode(value, named: "", at: [], depth: 0, isSecret: false)
        } catch let error as BodyError {
            throw error
        } catch {
            throw BodyError(
                .encodingFailed, "The value can't be encoded as fields: \(BodyError.reason(of: error))", cause: error)
        }
        return output.parts
    }

    /// Walks through a value as an encoder would, because Foundation's own doesn't count how deep it gets.
    static func checkDepth(of value: some Encodable) throws {
        let output = FieldOutput(FormFieldEncoder(), isDepthCheck: true)
        do {
            try output.encode(value, named: "", at: [], depth: 0, isSecret: false)
        } catch let error as BodyError where error.code == .nestedTooDeep {
            throw error
        } catch {
            // Whatever else is wrong, the real encoder says it better.
        }
    }
}

extension MultipartForm {
    /// Adds the fields of a value at the end.
    ///
    /// - Throws: what ``FormFieldEncoder/parts(of:)`` throws; then nothing was added.
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

    /// `myURLProperty` is three words: a word begins where a capital follows a small letter, and with the last capital
    /// of a row that a small letter follows.
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

/// How the name of a nested field is written.
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
    /// What PHP, Rails and Express (`qs`) read. PHP can't tell where an object in a list ends and the next begins.
    case brackets
    /// What PHP and Express (`qs`) read; keeps the objects of a list apart.
    case indexInBrackets
    /// Elements repeat the name: what Go, Java servlets, Django and Flask read.
    case noBrackets
    /// For servers that cut names at dots.
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
