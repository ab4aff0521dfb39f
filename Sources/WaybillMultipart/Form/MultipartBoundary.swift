/// The text that separates the parts of a form.
///
/// ```swift
/// let boundary = MultipartBoundary.random()                       // what you want
/// let fixed = try MultipartBoundary("golden-boundary-for-tests")  // what a test wants
/// ```
///
/// Allowed are 1–70 of the characters that both RFC 2046 section 5.1.1 lets a boundary have and RFC 9110 section 5.6.2
/// lets a token have: letters, digits and `'` `+` `-` `.` `_`. Such a boundary needs no quotes in a `Content-Type`, and
/// quotes are what old servers stumble over.
public struct MultipartBoundary: Sendable, Hashable, CustomStringConvertible {
    /// The boundary, without the dashes that stand before it in a body.
    public let description: String

    /// Takes a text as the boundary.
    ///
    /// The caller answers for its being absent from files; ``MultipartForm/prepared(boundary:)`` looks for it in what is
    /// in memory.
    ///
    /// - Throws: ``BodyError/Code/invalidBoundary``.
    public init(_ text: String) throws(BodyError) {
        guard (1...70).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else {
            throw BodyError(
                .invalidBoundary,
                "\(quoted(text)) can't be a boundary: use 1 to 70 letters, digits and ' + - . _, or .random().")
        }
        description = text
    }

    /// Makes a boundary nobody can guess: 24 letters and digits, 142 bits, from the system's random numbers.
    public static func random() -> MultipartBoundary {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    /// Makes a boundary of the given random numbers.
    package static func random(using generator: inout some RandomNumberGenerator) -> MultipartBoundary {
        var text = "----Waybill"
        for _ in 0..<24 {
            let pick = Int.random(in: 0..<alphabet.count, using: &generator)
            text.unicodeScalars.append(Unicode.Scalar(alphabet[pick]))
        }
        return MultipartBoundary(unchecked: text)
    }

    private init(unchecked text: String) {
        description = text
    }

    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    private static func isAllowed(_ byte: UInt8) -> Bool {
        alphabet.contains(byte) || "'+-._".utf8.contains(byte)
    }
}
