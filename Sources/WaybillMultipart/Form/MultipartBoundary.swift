import WaybillCore

/// The text that separates the parts of a form.
///
/// ```swift
/// let boundary = MultipartBoundary.random()                       // what you want
/// let fixed = try MultipartBoundary("golden-boundary-for-tests")  // what a test wants
/// ```
///
/// Allowed are 1–70 of the characters that both RFC 2046 section 5.1.1 lets a boundary have and RFC 9110 section 5.6.2
/// lets a token have: letters, digits and `'` `+` `-` `.` `_`. Such a boundary needs no quotes in a `Content-Type`, and
/// quotes are what old servers stumble over; ``init(quoted:)`` takes those that need them.
public struct MultipartBoundary: Sendable, Hashable, CustomStringConvertible {
    /// The boundary, without the dashes that stand before it in a body.
    public let description: String

    /// Takes a text as the boundary.
    ///
    /// The caller answers for its being absent from files; ``MultipartForm/prepared(boundary:)`` looks for it in what is
    /// in memory.
    ///
    /// - Throws: ``BodyError/Code/invalidBoundary``: also for what stands in the header lines of every part, such as `-`.
    public init(_ text: String) throws(BodyError) {
        try self.init(text, also: [], "' + - . _")
    }

    /// Takes a text as the boundary, with any of the characters of RFC 2046 section 5.1.1. In the `Content-Type` it stands in
    /// quotes if it needs them, which some servers don't understand.
    ///
    /// - Throws: ``BodyError/Code/invalidBoundary``.
    public init(quoted text: String) throws(BodyError) {
        try self.init(text, also: Array("(),/:=? ".utf8), "' ( ) + _ , - . / : = ? and blanks, none at its end,")
    }

    private init(_ text: String, also others: [UInt8], _ marks: String) throws(BodyError) {
        guard (1...70).contains(text.utf8.count), text.utf8.last != UInt8(ascii: " "),
            text.utf8.allSatisfy({ Self.isAllowed($0) || others.contains($0) })
        else {
            throw BodyError(
                .invalidBoundary,
                "\(quoted(text)) can't be a boundary, which has 1 to 70 letters, digits and \(marks) alone. "
                    + "\(Remedy.makeRandomBoundary)")
        }
        guard ByteSearch.find(Array(text.utf8), in: Self.everyHeader.span) == nil else {
            throw BodyError(
                .invalidBoundary,
                "\(quoted(text)) can't be a boundary: it stands in the header lines of every part. \(Remedy.makeRandomBoundary)"
            )
        }
        description = text
    }

    private static let everyHeader = Array("Content-Disposition: form-data; name=".utf8)

    /// As it stands in a `Content-Type`.
    var parameter: String {
        description.utf8.allSatisfy(Self.isAllowed) ? description : "\"\(description)\""
    }

    /// Makes a boundary nobody can guess: 128 bits of the system's random numbers, in 32 hexadecimal digits.
    public static func random() -> MultipartBoundary {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    /// Makes a boundary of the given random numbers.
    package static func random(using generator: inout some RandomNumberGenerator) -> MultipartBoundary {
        var text = Array("----Waybill".utf8)
        text.reserveCapacity(text.count + 32)
        // Two draws, not one a digit: each is a system call.
        for _ in 0..<2 {
            let bits: UInt64 = generator.next()
            for shift in stride(from: 60, through: 0, by: -4) {
                let digit = UInt8(bits >> UInt64(shift) & 15)
                text.append(digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10))
            }
        }
        return MultipartBoundary(unchecked: String(decoding: text, as: UTF8.self))
    }

    private init(unchecked text: String) {
        description = text
    }

    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    private static func isAllowed(_ byte: UInt8) -> Bool {
        alphabet.contains(byte) || "'+-._".utf8.contains(byte)
    }
}
