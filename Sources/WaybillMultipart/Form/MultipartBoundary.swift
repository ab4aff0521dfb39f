import WaybillCore

/// The string that separates the parts of a form.
///
/// ```swift
/// let boundary = MultipartBoundary.random()                       // what you want
/// let fixed = try MultipartBoundary("golden-boundary-for-tests")  // what a test wants
/// ```
///
/// A boundary consists of 1–70 of the characters that are allowed both in a boundary by RFC 2046 section 5.1.1 and in a
/// token by RFC 9110 section 5.6.2: letters, digits and `'` `+` `-` `.` `_`. Such a boundary needs no quotes in a
/// `Content-Type`; old servers misread quotes. ``init(quoted:)`` accepts boundaries that need them.
public struct MultipartBoundary: Sendable, Hashable, CustomStringConvertible {
    /// The boundary, without the two dashes that precede it in a body.
    public let description: String
    /// Whether the boundary has a character that a token must not have.
    private let needsQuotes: Bool

    /// Creates a boundary from a string.
    ///
    /// ``MultipartForm/prepared(boundary:)`` searches contents in memory for it; the caller must exclude it from files.
    ///
    /// - Throws: ``BodyError/Code/invalidBoundary``, also for a string that occurs in the header lines of every part,
    ///   such as `-`.
    public init(_ text: String) throws(BodyError) {
        try self.init(text, also: [], "' + - . _")
    }

    /// Creates a boundary from a string with any of the characters of RFC 2046 section 5.1.1. It is quoted in the
    /// `Content-Type` if necessary, which some servers do not understand.
    ///
    /// - Throws: ``BodyError/Code/invalidBoundary``.
    public init(quoted text: String) throws(BodyError) {
        try self.init(text, also: Array("(),/:=? ".utf8), "' ( ) + _ , - . / : = ? and inner spaces")
    }

    private init(_ text: String, also others: [UInt8], _ marks: String) throws(BodyError) {
        guard (1...70).contains(text.utf8.count), text.utf8.last != UInt8(ascii: " "),
            text.utf8.allSatisfy({ Self.isAllowed($0) || others.contains($0) })
        else {
            throw BodyError(
                .invalidBoundary,
                "Invalid boundary \(quoted(text)). Letters, digits and \(marks) are allowed, 1 to 70 in all. "
                    + "\(Remedy.makeRandomBoundary)")
        }
        guard ByteSearch.find(Array(text.utf8), in: Self.everyHeader.span) == nil else {
            throw BodyError(
                .invalidBoundary,
                "Invalid boundary \(quoted(text)). It occurs in the header lines of every part. "
                    + "\(Remedy.makeRandomBoundary)"
            )
        }
        description = text
        needsQuotes = !text.utf8.allSatisfy(Self.isAllowed)
    }

    private static let everyHeader = Array("Content-Disposition: form-data; name=".utf8)

    /// The value of the `boundary` parameter in a `Content-Type`.
    var parameter: String {
        needsQuotes ? "\"\(description)\"" : description
    }

    /// Returns an unpredictable boundary: 128 bits from the system's random number generator, as 32 hexadecimal digits.
    public static func random() -> MultipartBoundary {
        var generator = BufferedRandomNumberGenerator()
        return random(using: &generator)
    }

    /// Returns a boundary made of the given random numbers.
    package static func random(using generator: inout some RandomNumberGenerator) -> MultipartBoundary {
        // Two numbers, instead of one for each digit.
        let numbers: [2 of UInt64] = [generator.next(), generator.next()]
        let text = unsafe String(unsafeUninitializedCapacity: prefix.utf8CodeUnitCount + 32) { text in
            var count = 0
            func put(_ byte: UInt8) {
                unsafe text[count] = byte
                count += 1
            }
            for index in 0..<prefix.utf8CodeUnitCount { unsafe put(prefix.utf8Start[index]) }
            for index in 0..<32 {
                let digit = UInt8(numbers[index / 16] >> UInt64(60 - index % 16 * 4) & 15)
                put(digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10))
            }
            return count
        }
        return MultipartBoundary(token: text)
    }

    private static let prefix: StaticString = "----Waybill"

    private init(token text: String) {
        description = text
        needsQuotes = false
    }

    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    private static func isAllowed(_ byte: UInt8) -> Bool {
        alphabet.contains(byte) || "'+-._".utf8.contains(byte)
    }
}
