/// A date of a header field in any of the three formats that must be accepted (RFC 9110 section 5.6.7).
///
/// The conversion uses only calendar arithmetic: no time zone, locale or clock.
package struct HTTPDate: Sendable, Hashable {
    /// The seconds since 1970-01-01 00:00:00 UTC.
    package let seconds: Int64

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///
    /// The day of the week is not compared with the date. Years with two digits are those from 1970 to 2069.
    package init?(_ text: String) {
        guard text.utf8.count <= 40 else { return nil }
        let words = text.split { " ,-".contains($0) }.map(String.init)
        let fields: (day: String, month: String, year: String, time: String)
        switch words.count {
        case 6 where words[5] == "GMT": fields = (words[1], words[2], words[3], words[4])
        case 5: fields = (words[2], words[1], words[4], words[3])
        default: return nil
        }
        guard let month = Self.months.firstIndex(of: fields.month).map({ $0 + 1 }),
            let day = Self.number(fields.day, digits: 1...2), let year = Self.year(fields.year),
            (1...Self.days(in: month, of: year)).contains(day), let time = Self.secondsOfDay(fields.time)
        else { return nil }
        seconds = Self.daysSinceEpoch(year, month, day) * 86_400 + time
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func year(_ text: String) -> Int64? {
        if text.utf8.count == 4 { return number(text, digits: 4...4) }
        return number(text, digits: 2...2).map { $0 < 70 ? 2_000 + $0 : 1_900 + $0 }
    }

    private static func secondsOfDay(_ text: String) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map {
            number(String($0), digits: 2...2)
        }
        // 60 is a leap second.
        guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2], hour < 24,
            minute < 60, second <= 60
        else { return nil }
        return hour * 3_600 + minute * 60 + second
    }

    private static func number(_ text: String, digits: ClosedRange<Int>) -> Int64? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }

    private static func days(in month: Int, of year: Int64) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return switch month {
        case 2: isLeap ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Returns the days since the epoch in the Gregorian calendar. Years are counted from March, so that the leap day
    /// comes last.
    private static func daysSinceEpoch(_ year: Int64, _ month: Int, _ day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let marchMonth = Int64((month + 9) % 12)
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        return marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
    }
}
