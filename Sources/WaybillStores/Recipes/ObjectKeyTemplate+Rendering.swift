public import FoundationEssentials

/// The values for a key template.
public struct ObjectKeyValues: Sendable {
    /// The values of parameters, by name.
    public var parameters: [String: String]
    /// The file name. Only the last component of a path is used.
    public var fileName: String?
    /// The date for the key.
    public var date: FoundationEssentials.Date
    /// The offset of dates in the key from UTC: eight hours in China.
    public var utcOffset: Duration
    /// The UUID.
    public var uuid: UUID
    /// The SHA-256 of the content in hexadecimal, required only if ``ObjectKeyTemplate/needsDigest`` is `true`.
    public var sha256: String?
    /// The MD5 of the content in hexadecimal, see ``sha256``.
    public var md5: String?

    /// Creates values with the present date in UTC and a new UUID by default.
    public init(
        parameters: [String: String] = [:], fileName: String? = nil, date: FoundationEssentials.Date = .now,
        utcOffset: Duration = .zero, uuid: UUID = UUID()
    ) {
        self.parameters = parameters
        self.fileName = fileName
        self.date = date
        self.utcOffset = utcOffset
        self.uuid = uuid
    }
}

extension ObjectKeyTemplate {
    /// Returns the key of an object.
    ///
    /// - Throws: ``StoreError`` if a parameter is missing (``StoreError/Code/missingParameter``), or a value is not
    ///   allowed or a digest is missing (``StoreError/Code/invalidParameter``). The key is not checked against the
    ///   rules of a store.
    public func key(for values: ObjectKeyValues) throws(StoreError) -> String {
        try check()
        let calendar = CivilTime(values.date, utcOffset: values.utcOffset)
        var key = ""
        for step in steps {
            switch step {
            case .text(let text): key += text
            case .field(let field, let modifier, let length):
                let value = try self.value(of: field, modifier: modifier, length, values, calendar)
                key += modifier == .withDot && !value.isEmpty ? ".\(value)" : value
            }
        }
        return key
    }

    private func value(
        of field: Field, modifier: Modifier, _ length: Int?, _ values: ObjectKeyValues, _ time: CivilTime
    ) throws(StoreError) -> String {
        // Truncate parameters first, so that the resulting value is validated.
        if case .parameter(let name) = field {
            return try parameter(name, values, length, mayHaveSlashes: modifier == .withSlashes)
        }
        let value = try ownValue(of: field, values, time)
        return length.map { String(value.prefix($0)) } ?? value
    }

    private func ownValue(
        of field: Field, _ values: ObjectKeyValues, _ time: CivilTime
    ) throws(StoreError) -> String {
        switch field {
        case .year: time.text(time.year, digits: 4)
        case .month: time.text(time.month, digits: 2)
        case .day: time.text(time.day, digits: 2)
        case .hour: time.text(time.hour, digits: 2)
        case .minute: time.text(time.minute, digits: 2)
        case .second: time.text(time.second, digits: 2)
        case .date:
            time.text(time.year, digits: 4) + time.text(time.month, digits: 2) + time.text(time.day, digits: 2)
        case .timestamp: "\(CivilTime.seconds(values.date))"
        case .uuid: values.uuid.uuidString.lowercased()
        case .sha256: try digest(values.sha256, "sha256")
        case .md5: try digest(values.md5, "md5")
        case .stem: SanitizedFileName(values.fileName).stem
        case .ext: SanitizedFileName(values.fileName).ending
        case .parameter: ""
        }
    }

    private func digest(_ value: String?, _ name: String) throws(StoreError) -> String {
        guard let value else {
            throw StoreError(
                .invalidParameter,
                "The key template \"\(pattern)\" requires \(name), which is not set. Compute it from the content.")
        }
        return value
    }

    private func parameter(
        _ name: String, _ values: ObjectKeyValues, _ length: Int?, mayHaveSlashes: Bool
    ) throws(StoreError) -> String {
        guard let value = values.parameters[name].map({ String($0.prefix(length ?? .max)) }) else {
            throw StoreError(
                .missingParameter, "The key template \"\(pattern)\" requires the parameter \"\(name)\". Set its value.")
        }
        let segments = value.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let flaw: String? =
            if value.isEmpty {
                "is empty"
            } else if value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
                "contains a control character"
            } else if segments.count > 1, !mayHaveSlashes {
                "contains a slash. Use {+\(name)} to allow slashes"
            } else if segments.contains(where: {
                $0.isEmpty || $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8)
            }) {
                "contains . or .. or an empty path component"
            } else {
                nil
            }
        guard let flaw else { return value }
        // The message does not quote the value, which can be personal data.
        throw StoreError(.invalidParameter, "The parameter \"\(name)\" of the object key \(flaw).")
    }
}

/// A date in calendar components, computed without a time zone database.
struct CivilTime {
    let year, month, day, hour, minute, second: Int

    init(_ date: FoundationEssentials.Date, utcOffset: Duration) {
        let total = Self.seconds(date) + max(-86_400, min(86_400, utcOffset.components.seconds))
        var (days, seconds) = total.quotientAndRemainder(dividingBy: 86_400)
        if seconds < 0 { (days, seconds) = (days - 1, seconds + 86_400) }
        (hour, minute, second) = (Int(seconds / 3_600), Int(seconds / 60 % 60), Int(seconds % 60))
        // Years start in March, so that the leap day is their last day; an era of 400 years always has 146,097 days.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
        month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
    }

    /// Returns seconds since 1970, clamped to the years 1 to 9999, so that no date can trap.
    static func seconds(_ date: FoundationEssentials.Date) -> Int64 {
        Int64(max(-62_135_596_800, min(253_402_300_799, date.timeIntervalSince1970)).rounded(.down))
    }

    func text(_ number: Int, digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}

/// A file name, sanitized for use in a key, because it is client input.
struct SanitizedFileName {
    let stem: String
    let ending: String

    private static let longestStem = 100

    init(_ fileName: String?) {
        let name = fileName?.split(separator: "/").last ?? ""
        let dot = name.lastIndex(of: ".")
        let hasEnding = dot.map { $0 != name.startIndex } ?? false
        let rawStem = hasEnding ? name[..<dot!] : name
        let rawEnding = hasEnding ? name[name.index(after: dot!)...] : ""

        var stem = ""
        for character in rawStem {
            let isHarmless = character.isLetter || character.isNumber || "-_.~".contains(character)
            let next = isHarmless ? String(character) : "_"
            guard stem.utf8.count + next.utf8.count <= Self.longestStem else { break }
            stem += next
        }
        while stem.hasPrefix(".") { stem.removeFirst() }
        self.stem = stem.isEmpty ? "file" : stem
        let letters = rawEnding.lowercased()
        ending =
            letters.utf8.count <= 10 && letters.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } ? letters : ""
    }
}
