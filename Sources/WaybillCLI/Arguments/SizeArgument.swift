import Waybill

/// Parses numbers with units.
enum SizeArgument {
    /// Parses a size of at least one byte: `102400`, `100KB` (100,000), `100KiB` and `100K` (102,400), `1.5M`.
    static func size(_ text: String, for option: String) throws(CommandFailure) -> ByteCount {
        guard let count = ByteCount(text), count.bytes > 0 else {
            throw .usage(
                "\(option): \(Redaction.quoted(text)) is not a size. Write 100KiB, 100KB, 1.5M or a number of bytes."
            )
        }
        return count
    }

    /// Parses a number of pixels: `2.4MP`, `640x480`, `2400000`.
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

    /// Parses the length of a side in pixels.
    static func side(_ text: String, for option: String) throws(CommandFailure) -> Int {
        guard let side = whole(text[...]), side > 0 else {
            throw .usage("\(option): \(Redaction.quoted(text)) is not a number of pixels. Write 1600.")
        }
        return side
    }

    /// The error for `--min-side` without `--max-bytes`.
    static let needsMaxBytes = CommandFailure.usage(
        "--min-side applies only with --max-bytes. Add --max-bytes, or leave out --min-side.")

    /// Parses a time in seconds, optionally with a fraction. Returns `nil` for 0, which means "no limit" as in curl.
    static func seconds(_ text: String, for option: String) throws(CommandFailure) -> Duration? {
        guard let seconds = decimal(text[...]), seconds < 1e9 else {
            throw .usage("\(option): \(Redaction.quoted(text)) is not a number of seconds. Write 30 or 2.5.")
        }
        return seconds == 0 ? nil : .milliseconds(max(1, Int64((seconds * 1_000).rounded())))
    }

    /// Parses a JPEG quality.
    static func quality(_ text: String, for option: String) throws(CommandFailure) -> Int {
        guard let quality = whole(text[...]), (1...100).contains(quality) else {
            throw .usage("\(option): \(Redaction.quoted(text)) is not a quality. Write a number from 1 to 100.")
        }
        return quality
    }

    /// Accepts digits only, because Swift's initializer accepts a sign.
    private static func whole(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }

    /// Accepts digits and a decimal point only. Swift's initializer accepts exponents, infinities and hexadecimals.
    private static func decimal(_ text: Substring) -> Double? {
        guard text.utf8.contains(where: { (0x30...0x39).contains($0) }),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E })
        else { return nil }
        return Double(text)
    }
}

/// Parses durations with units.
enum DurationArgument {
    /// Parses a duration greater than zero: `90s`, `15m`, `12h`, `7d`, `2w`. A number without a unit is seconds.
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
