import HTTPTypes

/// The server's support for `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
///
/// Every `POST` and `PATCH` has such a key, which is the same in all attempts of an upload. A server that stores the
/// keys processes repeated requests only once. Only the caller can know whether the server does. By default, an upload
/// whose outcome is unknown is therefore not sent again. If the server honours the keys, declare it:
///
/// ```swift
/// options.idempotency = .honoured(window: .seconds(23 * 3_600))    // the server keeps keys for a day
/// ```
///
/// If the request has a header field with that name, it replaces the generated key, with any method.
public enum Idempotency: Sendable, Hashable {
    /// The server may treat a second request as another upload. An upload that may have been stored is not sent again.
    case ignored
    /// The server acts only once on each key, for at least this time after it first received the key. Until then,
    /// measured from the start of the first attempt, an upload whose outcome is unknown may be sent again with the same
    /// key.
    case honoured(window: Duration)
}

extension HTTPField.Name {
    /// `Idempotency-Key`.
    package static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}

/// A UUID (RFC 9562).
struct IdempotencyKey: Sendable {
    private let high: UInt64
    private let low: UInt64

    /// The UUID as a structured string (RFC 9651 section 3.3.3), quotes included.
    var fieldValue: String { written(quote: [UInt8(ascii: "\"")]) }

    /// The UUID without quotes.
    var text: String { written(quote: []) }

    /// Creates a random UUID: version 4, section 5.4.
    init(random: (high: UInt64, low: UInt64)) {
        self.init(high: random.high & ~0xF000 | 0x4000, low: random.low)
    }

    /// Creates a UUID that is greater than those of earlier milliseconds, with 74 random bits: version 7, section 5.7.
    init(milliseconds: Int64, random: (high: UInt64, low: UInt64)) {
        let time = UInt64(truncatingIfNeeded: milliseconds) << 16
        self.init(high: time | 0x7000 | random.high & 0x0FFF, low: random.low)
    }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low & ~(0b11 << 62) | 0b10 << 62
    }

    private func written(quote: [UInt8]) -> String {
        unsafe String(unsafeUninitializedCapacity: 38) { text in
            var count = 0
            func put(_ byte: UInt8) {
                unsafe text[count] = byte
                count += 1
            }
            quote.forEach(put)
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 { put(UInt8(ascii: "-")) }
                let digit = UInt8((index < 16 ? high : low) >> UInt64(60 - index % 16 * 4) & 15)
                put(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            }
            quote.forEach(put)
            return count
        }
    }
}
