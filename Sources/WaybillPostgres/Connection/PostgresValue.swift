/// The types of parameters and columns that are encoded and decoded; the raw value is the OID in `pg_type.dat`.
package enum PostgresType: UInt32, Sendable, Hashable, CaseIterable {
    case bool = 16
    case bytea = 17
    case int8 = 20
    case int2 = 21
    case int4 = 23
    case text = 25
    case float8 = 701
    case jsonb = 3802
    case boolArray = 1000
    case byteaArray = 1001
    case int2Array = 1005
    case int4Array = 1007
    case textArray = 1009
    case int8Array = 1016
    case float8Array = 1022
    case jsonbArray = 3807

    /// The type of the elements; `nil` for a type that is not an array.
    package var element: PostgresType? {
        switch self {
        case .boolArray: .bool
        case .byteaArray: .bytea
        case .int2Array: .int2
        case .int4Array: .int4
        case .textArray: .text
        case .int8Array: .int8
        case .float8Array: .float8
        case .jsonbArray: .jsonb
        case .bool, .bytea, .int8, .int2, .int4, .text, .float8, .jsonb: nil
        }
    }

    /// The type of arrays with elements of this type; an array type returns itself, as in PostgreSQL.
    package var array: PostgresType {
        switch self {
        case .bool: .boolArray
        case .bytea: .byteaArray
        case .int8: .int8Array
        case .int2: .int2Array
        case .int4: .int4Array
        case .text: .textArray
        case .float8: .float8Array
        case .jsonb: .jsonbArray
        case .boolArray, .byteaArray, .int2Array, .int4Array, .textArray, .int8Array, .float8Array, .jsonbArray: self
        }
    }

    /// Returns the type whose binary format a type of the server has: that of `varchar` and `name` is that of `text`.
    init?(oid: UInt32) {
        switch oid {
        case 19, 114, 705, 1_042, 1_043: self = .text
        case 5_069: self = .int8
        default: self.init(rawValue: oid)
        }
    }
}

/// A parameter of a statement, or a value of a row.
package enum PostgresValue: Sendable, Hashable {
    case bool(Bool)
    case int2(Int16)
    case int4(Int32)
    case int8(Int64)
    case float8(Double)
    case text(String)
    case bytea([UInt8])
    /// JSON as text.
    case jsonb(String)
    /// An array of one dimension; the elements have the given type or are null.
    case array(of: PostgresType, [PostgresValue])
    case null(PostgresType)
    /// A value, in the binary format of the server, of a type without a case; `nil` for a null.
    case other(oid: UInt32, [UInt8]?)

    /// An array of `int8`.
    package static func array(_ elements: [Int64?]) -> PostgresValue {
        .array(of: .int8, elements.map { $0.map(PostgresValue.int8) ?? .null(.int8) })
    }

    /// An array of `text`.
    package static func array(_ elements: [String?]) -> PostgresValue {
        .array(of: .text, elements.map { $0.map(PostgresValue.text) ?? .null(.text) })
    }

    /// An array of `bytea`.
    package static func array(_ elements: [[UInt8]?]) -> PostgresValue {
        .array(of: .bytea, elements.map { $0.map(PostgresValue.bytea) ?? .null(.bytea) })
    }

    /// The OID of the type.
    package var oid: UInt32 {
        switch self {
        case .bool: PostgresType.bool.rawValue
        case .int2: PostgresType.int2.rawValue
        case .int4: PostgresType.int4.rawValue
        case .int8: PostgresType.int8.rawValue
        case .float8: PostgresType.float8.rawValue
        case .text: PostgresType.text.rawValue
        case .bytea: PostgresType.bytea.rawValue
        case .jsonb: PostgresType.jsonb.rawValue
        case .array(let element, _): element.array.rawValue
        case .null(let type): type.rawValue
        case .other(let oid, _): oid
        }
    }

    package var isNull: Bool {
        switch self {
        case .null, .other(_, nil): true
        default: false
        }
    }

    /// The number of bytes in binary format, or more.
    var estimatedSize: Int {
        switch self {
        case .bool, .int2, .int4, .int8, .float8, .null, .other(_, nil): 8
        case .text(let value), .jsonb(let value): value.utf8.count + 1
        case .bytea(let value), .other(_, let value?): value.count
        case .array(_, let elements): elements.reduce(20) { $0 + $1.estimatedSize + 4 }
        }
    }

    /// An integer of any size; `nil` for a null or another type.
    package var integer: Int64? {
        switch self {
        case .int2(let value): Int64(value)
        case .int4(let value): Int64(value)
        case .int8(let value): value
        default: nil
        }
    }

    /// A `bool`; `nil` for a null or another type.
    package var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// A `float8`; `nil` for a null or another type.
    package var double: Double? {
        guard case .float8(let value) = self else { return nil }
        return value
    }

    /// Text or JSON; `nil` for a null or another type.
    package var text: String? {
        switch self {
        case .text(let value), .jsonb(let value): value
        default: nil
        }
    }

    /// A `bytea`; `nil` for a null or another type.
    package var bytes: [UInt8]? {
        guard case .bytea(let value) = self else { return nil }
        return value
    }

    /// The elements of an array; `nil` for a null or another type.
    package var elements: [PostgresValue]? {
        guard case .array(_, let elements) = self else { return nil }
        return elements
    }
}
