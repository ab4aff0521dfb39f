/// The binary format of parameters and columns: the functions `…send` and `…recv` of the server's types.
enum BinaryFormat {
    /// Bytes that are not a value of their type.
    struct Malformed: Error, Equatable {}

    /// The largest number of bytes of a message to PostgreSQL (`PQ_LARGE_MESSAGE_LIMIT`), less than that of a field.
    static let largestMessage = (1 << 30) - 1

    /// Appends the bytes of a value.
    ///
    /// - Returns: Whether there are any: a null has none.
    static func encode(_ value: PostgresValue, into bytes: inout [UInt8]) -> Bool {
        switch value {
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .int2(let value): append(value, to: &bytes)
        case .int4(let value): append(value, to: &bytes)
        case .int8(let value): append(value, to: &bytes)
        case .float8(let value): append(value.bitPattern, to: &bytes)
        case .text(let value): bytes += value.utf8
        case .bytea(let value): bytes += value
        case .jsonb(let value):
            bytes.append(jsonbVersion)
            bytes += value.utf8
        case .array(let element, let elements): encode(elements, of: element, into: &bytes)
        case .null, .other(_, nil): return false
        case .other(_, let value?): bytes += value
        }
        return true
    }

    /// Decodes a value that is not null.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the value.
    ///   - oid: Its type.
    ///   - type: The type whose format it has, if this is known.
    /// - Returns: The value.
    /// - Throws: ``Malformed`` if the bytes are not a value of the type.
    static func decode(_ bytes: Span<UInt8>, oid: UInt32, _ type: PostgresType?) throws(Malformed) -> PostgresValue {
        guard let type else { return .other(oid: oid, array(bytes)) }
        if let element = type.element { return try decodeArray(bytes, of: element) }
        switch type {
        case .bool:
            guard bytes.count == 1 else { throw Malformed() }
            return .bool(bytes[0] != 0)
        case .int2: return .int2(try whole(bytes))
        case .int4: return .int4(try whole(bytes))
        case .int8: return .int8(try whole(bytes))
        case .float8: return .float8(Double(bitPattern: try whole(bytes)))
        case .bytea: return .bytea(array(bytes))
        case .jsonb:
            guard bytes.count > 0, bytes[0] == jsonbVersion else { throw Malformed() }
            return .jsonb(text(bytes.extracting(1..<bytes.count)))
        default: return .text(text(bytes))
        }
    }

    // The number of dimensions, whether there are nulls, the type of the elements; for each dimension its length and the
    // index of its first element; then each element with its length, which is -1 for a null. (array_send in arrayfuncs.c)
    private static func encode(_ elements: [PostgresValue], of type: PostgresType, into bytes: inout [UInt8]) {
        append(Int32(elements.isEmpty ? 0 : 1), to: &bytes)
        append(Int32(elements.contains(where: \.isNull) ? 1 : 0), to: &bytes)
        append(type.rawValue, to: &bytes)
        guard !elements.isEmpty else { return }
        append(Int32(truncatingIfNeeded: elements.count), to: &bytes)
        append(Int32(1), to: &bytes)
        for element in elements {
            let start = bytes.count
            append(Int32(-1), to: &bytes)
            guard encode(element, into: &bytes) else { continue }
            let length = UInt32(truncatingIfNeeded: bytes.count - start - 4)
            for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> (24 - 8 * index)) }
        }
    }

    private static func decodeArray(_ bytes: Span<UInt8>, of type: PostgresType) throws(Malformed) -> PostgresValue {
        let dimensions: Int32 = try integer(bytes, at: 0)
        let oid: UInt32 = try integer(bytes, at: 8)
        guard let found = PostgresType(oid: oid), found == type else { throw Malformed() }
        if dimensions == 0 {
            guard bytes.count == 12 else { throw Malformed() }
            return .array(of: type, [])
        }
        let count: Int32 = try integer(bytes, at: 12)
        var offset = 20
        // Each element has four bytes of length.
        guard dimensions == 1, count > 0, Int(count) <= (bytes.count - offset) / 4 else { throw Malformed() }
        var elements: [PostgresValue] = []
        elements.reserveCapacity(Int(count))
        for _ in 0..<count {
            let length: Int32 = try integer(bytes, at: offset)
            offset += 4
            if length == -1 {
                elements.append(.null(type))
                continue
            }
            guard length >= 0, Int(length) <= bytes.count - offset else { throw Malformed() }
            elements.append(try decode(bytes.extracting(offset..<offset + Int(length)), oid: oid, found))
            offset += Int(length)
        }
        guard offset == bytes.count else { throw Malformed() }
        return .array(of: type, elements)
    }

    private static let jsonbVersion: UInt8 = 1

    private static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Returns the integer that the bytes consist of.
    private static func whole<Value: FixedWidthInteger>(_ bytes: Span<UInt8>) throws(Malformed) -> Value {
        guard bytes.count == Value.bitWidth / 8 else { throw Malformed() }
        return try integer(bytes, at: 0)
    }

    private static func integer<Value: FixedWidthInteger>(
        _ bytes: Span<UInt8>, at offset: Int
    ) throws(Malformed) -> Value {
        let width = Value.bitWidth / 8
        guard offset <= bytes.count - width else { throw Malformed() }
        var value: Value = 0
        for index in offset..<offset + width { value = value << 8 | Value(truncatingIfNeeded: bytes[index]) }
        return value
    }

    private static func text(_ bytes: Span<UInt8>) -> String {
        unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    private static func array(_ bytes: Span<UInt8>) -> [UInt8] {
        unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }
}
