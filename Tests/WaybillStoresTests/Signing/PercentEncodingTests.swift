import FoundationEssentials
import TestSupport
import Testing

@testable import WaybillStores

@Suite struct `Percent-encoding` {
    private static let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)

    @Test func `each ASCII byte is encoded as in RFC 3986`() {
        for byte in UInt8(0)...0x7F {
            let text = String(decoding: [byte], as: UTF8.self)
            let high = String(byte >> 4, radix: 16, uppercase: true)
            let low = String(byte & 15, radix: 16, uppercase: true)
            let expected = Self.unreserved.contains(byte) ? text : "%\(high)\(low)"
            #expect(PercentEncoding.query(text) == expected)
            #expect(PercentEncoding.path(text) == (byte == 0x2F ? "/" : expected))
        }
    }

    @Test(
        arguments: [
            ("1+2", "1%2B2"), ("100%", "100%25"), ("%41", "%2541"), ("a#b?c", "a%23b%3Fc"), ("空", "%E7%A9%BA"),
            ("a//b/../c/./", "a//b/../c/./"), ("🧾", "%F0%9F%A7%BE"), ("e\u{301}", "e%CC%81"), ("\u{E9}", "%C3%A9"),
            ("a b", "a%20b"), ("*'()!", "%2A%27%28%29%21"), ("", ""),
        ])
    func `keys are encoded by their bytes`(_ key: String, _ encoded: String) {
        #expect(PercentEncoding.path(key) == encoded)
    }

    @Test(arguments: 0..<20)
    func `encoded text decodes to the same bytes`(_ round: Int) {
        var random = SeededGenerator()
        let seed = random.seed
        let pieces = ["+", "%", "#", "?", "空", "/", "..", "//", "a", " ", "\u{301}", "%2F", "&", "=", "\u{0}", "🧾"]
        let text = (0..<Int.random(in: 0...40, using: &random)).map { _ in pieces.randomElement(using: &random)! }
            .joined()
        for encoded in [PercentEncoding.path(text), PercentEncoding.query(text)] {
            #expect(Self.decoded(encoded) == Array(text.utf8), "seed \(seed)")
            #expect(
                encoded.utf8.allSatisfy { Self.unreserved.contains($0) || $0 == 0x25 || $0 == 0x2F }, "seed \(seed)")
        }
        #expect(!PercentEncoding.query(text).utf8.contains(0x2F), "seed \(seed)")
    }

    @Test func `the longest key is encoded completely`() {
        let key = String(repeating: "空", count: 341)
        #expect(key.utf8.count == 1_023)
        #expect(PercentEncoding.path(key) == String(repeating: "%E7%A9%BA", count: 341))
    }

    @Test func `a query item without a value has no equals sign`() {
        let items = [StoreQueryItem("uploads"), StoreQueryItem("a b", "c/d"), StoreQueryItem("e", "")]
        #expect(StoreQueryItem.text(of: items) == "uploads&a%20b=c%2Fd&e")
    }

    /// Decodes by the grammar, independently of the code under test.
    private static func decoded(_ text: String) -> [UInt8]? {
        var rest = Array(text.utf8)[...]
        var result: [UInt8] = []
        while let byte = rest.popFirst() {
            guard byte == 0x25 else {
                result.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            rest = rest.dropFirst(2)
            result.append(value)
        }
        return result
    }
}
