package import FoundationEssentials

/// Formats and parses the dates of the stores. Calendar arithmetic only: no time zone, locale or clock.
package enum StoreDate {
    /// Returns `Wed, 28 Dec 2022 10:27:41 GMT` (RFC 9110 section 5.6.7).
    package static func http(_ date: Date) -> String {
        let moment = OneTimeEvent(date)
        let weekday = weekdays[(moment.daysSinceEpoch % 7 + 11) % 7]
        return "\(weekday), \(two(moment.day)) \(months[moment.month - 1]) \(four(moment.year)) \(moment.time) GMT"
    }

    /// Returns `20221228T102741Z`.
    package static func compact(_ date: Date) -> String {
        let moment = OneTimeEvent(date)
        return "\(moment.compactDay)T\(two(moment.hour))\(two(moment.minute))\(two(moment.second))Z"
    }

    /// Returns `20221228`.
    package static func day(_ date: Date) -> String { OneTimeEvent(date).compactDay }

    /// Returns `2022-12-28T10:27:41.000Z`; fractions of a second are truncated.
    package static func iso8601(_ date: Date) -> String {
        let moment = OneTimeEvent(date)
        return "\(four(moment.year))-\(two(moment.month))-\(two(moment.day))T\(moment.time).000Z"
    }

    /// Returns whole seconds since 1970, clamped to the years 1 to 9999, so that no date can trap.
    package static func seconds(_ date: Date) -> Int {
        let seconds = date.timeIntervalSince1970
        guard !seconds.isNaN else { return 0 }
        return Int(min(max(seconds.rounded(.down), -62_135_596_800), 253_402_300_799))
    }

    /// Parses ISO 8601 such as `2022-12-28T10:27:41Z`, also with a fraction, with `+08:00` or `+0800`, with a space
    /// instead of the `T`, and in compact form. A string without a zone is taken as UTC.
    package static func parse(_ text: String) -> Date? {
        var digits = DigitReader(text)
        guard let year = digits.number(4) else { return nil }
        let dash = digits.skip("-")
        guard let month = digits.number(2), digits.skip("-") == dash, let day = digits.number(2) else { return nil }
        guard digits.skip("T") || digits.skip("t") || digits.skip(" ") else { return nil }
        guard let hour = digits.number(2) else { return nil }
        let colon = digits.skip(":")
        guard let minute = digits.number(2), digits.skip(":") == colon, let second = digits.number(2) else {
            return nil
        }
        let fraction = digits.fraction()
        guard let offset = digits.offset(), digits.isAtEnd, (1...12).contains(month), hour < 24, minute < 60,
            second <= 60,
            (1...OneTimeEvent.days(in: month, of: year)).contains(day)
        else { return nil }
        let days = OneTimeEvent.days(year, month, day)
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Date(timeIntervalSince1970: Double(seconds) + fraction)
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    fileprivate static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    fileprivate static func four(_ number: Int) -> String {
        let text = "\(number)"
        return String(repeating: "0", count: max(0, 4 - text.utf8.count)) + text
    }
}

/// A point in time in the Gregorian calendar, in UTC.
private struct OneTimeEvent {
    let daysSinceEpoch: Int
    let year: Int
    let month: Int
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int

    init(_ date: Date) {
        let seconds = StoreDate.seconds(date)
        let ofDay = ((seconds % 86_400) + 86_400) % 86_400
        daysSinceEpoch = (seconds - ofDay) / 86_400
        (hour, minute, second) = (ofDay / 3_600, ofDay / 60 % 60, ofDay % 60)
        // Count from March of the year 0, so that the leap day is last and an era of 400 years has 146,097 days.
        let shifted = daysSinceEpoch + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    var compactDay: String { StoreDate.four(year) + StoreDate.two(month) + StoreDate.two(day) }
    var time: String { "\(StoreDate.two(hour)):\(StoreDate.two(minute)):\(StoreDate.two(second))" }

    static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let marchYear = month > 2 ? year : year - 1
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
    }

    static func days(in month: Int, of year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return switch month {
        case 2: isLeap ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// Reads the components of a date from left to right.
private struct DigitReader {
    private var rest: ArraySlice<UInt8>

    init(_ text: String) { rest = Array(text.utf8.prefix(64))[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func number(_ count: Int) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    mutating func fraction() -> Double {
        guard rest.first == UInt8(ascii: ".") || rest.first == UInt8(ascii: ",") else { return 0 }
        let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty else { return 0 }
        rest = rest.dropFirst(1 + digits.count)
        return digits.reversed().reduce(0) { ($0 + Double($1 - 0x30)) / 10 }
    }

    /// Returns the number of seconds to subtract for UTC.
    mutating func offset() -> Int? {
        if rest.isEmpty || skip("Z") || skip("z") { return 0 }
        let sign = skip("+") ? 1 : skip("-") ? -1 : 0
        guard sign != 0, let hours = number(2), hours < 24 else { return nil }
        _ = skip(":")
        guard let minutes = isAtEnd ? 0 : number(2), minutes < 60 else { return nil }
        return sign * (hours * 3_600 + minutes * 60)
    }
}
