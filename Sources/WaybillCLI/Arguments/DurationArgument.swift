import Waybill

/// Times with units, as people type them.
enum DurationArgument {
    /// A time longer than nothing: `90s`, `15m`, `12h`, `7d`, `2w`; a number alone is seconds.
    static func read(_ text: String, for option: String) throws(CommandFailure) -> Duration {
        let (digits, unit): (Substring, Int64) =
            if let last = text.last, let seconds = units[last] { (text.dropLast(), seconds) } else { (text[...], 1) }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits),
            count > 0, count <= 3_650 * 86_400 / unit
        else {
            throw .usage("\(option): \"\(Redaction.escaped(text))\" is no time. Write 90s, 15m, 12h, 7d or 2w.")
        }
        return .seconds(count * unit)
    }

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
}
