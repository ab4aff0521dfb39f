import Testing

@testable import Waybill

@Suite struct StructuredFieldTests {
    @Test(
        arguments: [
            ("0", 0), ("12", 12), (" 7 ", 7), ("7;a=1", 7), ("999999999999999", 999_999_999_999_999),
            ("1000000000000000", nil), ("-1", nil), ("", nil), ("1.0", nil), ("1, 2", nil), ("?1", nil), ("\"1\"", nil),
            ("+1", nil), ("１", nil),
        ] as [(String, Int64?)])
    func `an integer has 1 to 15 digits`(_ text: String, _ value: Int64?) {
        #expect(StructuredField.integer(text) == value)
    }

    @Test(
        arguments: [("?1", true), ("?0", false), ("?1;x", true), ("1", nil), ("true", nil), ("?2", nil), ("", nil)]
            as [(String, Bool?)])
    func `a boolean is ?0 or ?1`(_ text: String, _ value: Bool?) {
        #expect(StructuredField.boolean(text) == value)
    }

    @Test(
        arguments: [
            ("max-size=5", ["max-size": 5]), ("max-size=5, min-size=1", ["max-size": 5, "min-size": 1]),
            ("other=\"a,b;c=d\", max-size=5", ["max-size": 5]), ("flag, max-size=5;p=1", ["max-size": 5]),
            ("max-size=1, max-size=2", ["max-size": 2]), ("max-size=\"5\"", nil), ("max-size", nil),
            ("max-size=5.0", nil),
            ("max-size=-1", nil), ("Max-Size=5", nil), ("=5", nil), ("max-size=5,,", nil),
        ] as [(String, [String: Int64]?)])
    func `a dictionary with a known key of another type is ignored as a whole`(
        _ text: String, _ values: [String: Int64]?
    ) {
        #expect(StructuredField.integers(text, keys: ["max-size", "min-size"]) == values)
    }

    @Test func `a missing field has no value`() {
        #expect(StructuredField.integer(nil) == nil)
        #expect(StructuredField.boolean(nil) == nil)
        #expect(StructuredField.integers(nil, keys: []) == nil)
    }
}
