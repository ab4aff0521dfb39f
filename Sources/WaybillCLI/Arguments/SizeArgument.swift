import Waybill

/// Numbers with units, as people type them.
enum SizeArgument {
    /// A size of at least one byte: `102400`, `100KB` (100,000), `100KiB` and `100K` (102,400), `1.5M`.
    static func size(_ text: String, for option: String) throws(CommandFailure) -> ByteCount {
        guard let count = ByteCount(text), count.bytes > 0 else {
            throw .usage(
                "\(option): \(Redaction.quoted(text)) is not a size. Write 100KiB, 100KB, 1.5M or a number of bytes."
            )
        }
        return count
    }

    /// A number of pixels: `2.4MP`, `640x480`, `2400000`.
    static func pixels(_ text: String, for option: String) throws(CommandFailure) -> Int {
        let lower = text.lowercased()
        if lower.hasSuffix("mp"), let millions = decimal(lower.dropLast(2)) {
            let pixels = (millions * 1_000_000).rounded()
            if pixels >= 1, pixels < 1e12 { return Int(pixels) }
        } else if let cross = lower.firstIndex(of: "x") {
            if let width = whole(lower[..<cross]), let height = whole(lower[lower.index(after: cross)...]), width > 0,
                height > 0, width <= 1_000_000, height <= 1_000_000
            {
                return width * height
            }
        } else if let pixels = whole(lower[...]), pixels > 0 {
            return pixels
        }
        throw .usage("\(option): \(Redaction.quoted(text)) is not a number of pixels. Write 2.4MP or 1600x1200.")
    }

    /// Pixels along a side.
    static func side(_ text: String, for option: String) throws(CommandFailure) -> Int {
        guard let side = whole(text[...]), side > 0 else {
            throw .usage("\(option): \(Redaction.quoted(text)) is not a number of pixels. Write 1600.")
        }
        return side
    }

    /// `--min-side` without `--max-bytes`.
    static let needsMaxBytes = CommandFailure.usage(
        "--min-side needs --max-bytes: without a limit in bytes, no image is scaled down to fit.")

    /// A time in seconds, with a fraction if wanted; `nil` for 0, which means "no limit" to curl.
    static func seconds(_ text: String, for option: String) throws(CommandFailure) -> Duration? {
        guard let seconds = decimal(text[...]), seconds < 1e9 else {
            throw .usage("\(option): \(Redaction.quoted(text)) is not a number of seconds. Write 30 or 2.5.")
        }
        return seconds == 0 ? nil : .milliseconds(max(1, Int64((seconds * 1_000).rounded())))
    }

    /// A JPEG quality.
    static func quality(_ text: String, for option: String) throws(CommandFailure) -> Int {
        guard let quality = whole(text[...]), (1...100).contains(quality) else {
            throw .usage("\(option): \(Redaction.quoted(text)) is not a quality. Write a number from 1 to 100.")
        }
        return quality
    }

    /// Digits only: Swift's own initialiser takes a sign.
    private static func whole(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }

    /// Digits and a point only: Swift's own initialiser takes exponents, infinities and hexadecimals.
    private static func decimal(_ text: Substring) -> Double? {
        guard text.utf8.contains(where: { (0x30...0x39).contains($0) }),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E })
        else { return nil }
        return Double(text)
    }
}

/// Times with units, as people type them.
enum DurationArgument {
    /// A time longer than nothing: `90s`, `15m`, `12h`, `7d`, `2w`; a number alone is seconds.
    static func read(_ text: String, for option: String) throws(CommandFailure) -> Duration {
        let (digits, unit): (Substring, Int64) =
            if let last = text.last, let seconds = units[last] { (text.dropLast(), seconds) } else { (text[...], 1) }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits),
            count > 0, count <= 3_650 * 86_400 / unit
        else {
            throw .usage("\(option): \(Redaction.quoted(text)) is not a duration. Write 90s, 15m, 12h, 7d or 2w.")
        }
        return .seconds(count * unit)
    }

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
}
