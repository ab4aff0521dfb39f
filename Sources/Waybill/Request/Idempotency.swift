import HTTPTypes

/// What the server makes of an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
///
/// Every `POST` and `PATCH` carries such a key, the same one in all attempts of an upload: a server that keeps them does
/// the work once, however often it is asked. Whether this one does, only you can know. So by default nothing is built on
/// it, and an upload whose outcome is unknown is not sent again. Where the server promises it, say so:
///
/// ```swift
/// options.idempotency = .honoured(window: .seconds(23 * 3_600))    // it keeps keys for a day
/// ```
///
/// A field of that name of your own is sent in place of the made one, with any method.
public enum Idempotency: Sendable, Hashable {
    /// The server may take the second request for another upload. Nothing that may have been stored is sent again.
    case ignored
    /// The server acts once on each key, for at least this long after it first saw it. Until then, measured from the
    /// start of the first attempt, an upload whose outcome is unknown may be sent again with the same key.
    case honoured(window: Duration)
}

extension HTTPField.Name {
    /// `Idempotency-Key`.
    package static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}

/// A UUID (RFC 9562) as a structured string (RFC 9651 section 3.3.3), quotes included.
struct IdempotencyKey: Sendable {
    let fieldValue: String

    /// The UUID alone.
    var text: String { String(fieldValue.dropFirst().dropLast()) }

    /// A random one: version 4, section 5.4.
    init(random: (high: UInt64, low: UInt64)) {
        self.init(high: random.high & ~0xF000 | 0x4000, low: random.low)
    }

    /// One that is larger than those of earlier milliseconds, with 74 random bits: version 7, section 5.7.
    init(milliseconds: Int64, random: (high: UInt64, low: UInt64)) {
        let time = UInt64(truncatingIfNeeded: milliseconds) << 16
        self.init(high: time | 0x7000 | random.high & 0x0FFF, low: random.low)
    }

    private init(high: UInt64, low: UInt64) {
        let low = low & ~(0b11 << 62) | 0b10 << 62
        fieldValue = unsafe String(unsafeUninitializedCapacity: 38) { text in
            var count = 0
            func put(_ byte: UInt8) {
                unsafe text[count] = byte
                count += 1
            }
            put(UInt8(ascii: "\""))
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 { put(UInt8(ascii: "-")) }
                let digit = UInt8((index < 16 ? high : low) >> UInt64(60 - index % 16 * 4) & 15)
                put(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            }
            put(UInt8(ascii: "\""))
            return count
        }
    }
}
