import TestSupport
import Testing

@testable import WaybillPostgres

@Suite(.timeLimit(.minutes(1))) struct BinaryFormatTests {
    @Test func `values are encoded as the manual and the server's source describe`() {
        #expect(encoded(.bool(true)) == [1])
        #expect(encoded(.int2(-2)) == [255, 254])
        #expect(encoded(.int4(258)) == [0, 0, 1, 2])
        #expect(encoded(.int8(1 << 40)) == [0, 0, 1, 0, 0, 0, 0, 0])
        #expect(encoded(.float8(1)) == [63, 240, 0, 0, 0, 0, 0, 0])
        #expect(encoded(.text("é")) == [195, 169])
        #expect(encoded(.jsonb("{}")) == [1, 123, 125])
        #expect(encoded(.null(.int8)) == nil)
        #expect(
            encoded(.array([1, nil] as [Int64?])) == [
                0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, 2, 0, 0, 0, 1,
                0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255,
            ])
        #expect(encoded(.array([] as [String?])) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25])
    }

    @Test func `every value is decoded from its bytes, and no prefix of an array is`() throws {
        var random = SeededGenerator()
        for _ in 0..<200 {
            let value = PostgresValue.random(using: &random)
            guard let bytes = encoded(value) else { continue }
            #expect(try BinaryFormat.decode(bytes.span, oid: value.oid, PostgresType(oid: value.oid)) == value)
            guard case .array = value else { continue }
            let decoded = (0..<bytes.count).count {
                (try? BinaryFormat.decode(Array(bytes[..<$0]).span, oid: value.oid, PostgresType(oid: value.oid)))
                    != nil
            }
            #expect(decoded == 0, "seed \(random.seed)")
        }
    }

    @Test func `damaged bytes are an error or another value`() {
        var random = SeededGenerator()
        var (errors, values) = (0, 0)
        for _ in 0..<2_000 {
            let value = PostgresValue.random(using: &random)
            guard var bytes = encoded(value), !bytes.isEmpty else { continue }
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let type =
                Bool.random(using: &random) ? value.oid : PostgresType.allCases.randomElement(using: &random)!.rawValue
            if (try? BinaryFormat.decode(bytes.span, oid: type, PostgresType(oid: type))) == nil {
                errors += 1
            } else {
                values += 1
            }
        }
        #expect(errors > 100)
        #expect(values > 100)
    }

    @Test func `an array that claims more elements than it has bytes is an error`() {
        let bytes: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 127, 255, 255, 255, 0, 0, 0, 1]
        #expect(throws: BinaryFormat.Malformed.self) {
            try BinaryFormat.decode(bytes.span, oid: PostgresType.int8Array.rawValue, .int8Array)
        }
    }

    @Test func `a value of a type without a case keeps its bytes`() throws {
        #expect(try BinaryFormat.decode([1, 2].span, oid: 2_950, nil) == .other(oid: 2_950, [1, 2]))
    }

    private func encoded(_ value: PostgresValue) -> [UInt8]? {
        var bytes: [UInt8] = []
        return BinaryFormat.encode(value, into: &bytes) ? bytes : nil
    }
}

extension PostgresValue {
    /// Returns a value of a random type. JSON is a string, which the server returns unchanged.
    static func random(using random: inout SeededGenerator) -> PostgresValue {
        let type = PostgresType.allCases.randomElement(using: &random)!
        if Int.random(in: 0..<8, using: &random) == 0 { return .null(type) }
        guard let element = type.element else { return scalar(type, using: &random) }
        let count = Int.random(in: 0..<6, using: &random)
        return .array(
            of: element,
            (0..<count).map { _ in
                Int.random(in: 0..<4, using: &random) == 0 ? .null(element) : scalar(element, using: &random)
            })
    }

    private static func scalar(_ type: PostgresType, using random: inout SeededGenerator) -> PostgresValue {
        let word = random.next() >> UInt64.random(in: 0..<64, using: &random)
        switch type {
        case .bool: return .bool(word & 1 == 1)
        case .int2: return .int2(Int16(truncatingIfNeeded: word))
        case .int4: return .int4(Int32(truncatingIfNeeded: word))
        case .int8: return .int8(Int64(truncatingIfNeeded: word))
        case .float8:
            let number = Double(bitPattern: word)
            return .float8(number.isNaN ? 1.5 : number)
        case .bytea: return .bytea(random.bytes(Int.random(in: 0..<40, using: &random)))
        case .jsonb: return .jsonb("\"\(letters(using: &random).filter { $0 != "\"" && $0 != "\\" })\"")
        default: return .text(letters(using: &random))
        }
    }

    private static func letters(using random: inout SeededGenerator) -> String {
        let count = Int.random(in: 0..<20, using: &random)
        return String((0..<count).map { _ in "ab\"\\{}, é漢😀'\n".randomElement(using: &random)! }.filter { $0 != "\n" })
    }
}
