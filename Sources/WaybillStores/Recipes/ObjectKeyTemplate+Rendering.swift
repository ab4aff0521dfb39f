public import FoundationEssentials

/// What a key template is filled with.
public struct ObjectKeyValues: Sendable {
    /// The caller's own values, by name.
    public var parameters: [String: String]
    /// The file's name; of a path only the last component counts.
    public var fileName: String?
    /// The moment that dates in the key are of.
    public var date: FoundationEssentials.Date
    /// How far those dates are ahead of UTC: eight hours in China.
    public var utcOffset: Duration
    /// The UUID.
    public var uuid: UUID
    /// The digests of the bytes, in hexadecimal; needed only where ``ObjectKeyTemplate/needsDigest`` says so.
    public var sha256: String?
    /// See ``sha256``.
    public var md5: String?

    /// Values of now, in UTC, with a fresh UUID.
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
    /// The key of one object.
    ///
    /// - Throws: ``StoreError``: a parameter is missing (``StoreError/Code/missingParameter``), a value can't stand in its place,
    ///   or there is no digest (``StoreError/Code/invalidParameter``). Whether the store takes the key is for the store to
    ///   say.
    public func key(for values: ObjectKeyValues) throws(StoreError) -> String {
        try check()
        let calendar = CivilTime(values.date, utcOffset: values.utcOffset)
        var key = ""
        for step in steps {
            switch step {
            case .text(let text): key += text
            case .field(let field, let mark, let length):
                let value = try self.value(of: field, mark: mark, length, values, calendar)
                key += mark == .withDot && !value.isEmpty ? ".\(value)" : value
            }
        }
        return key
    }

    private func value(
        of field: Field, mark: Mark, _ length: Int?, _ values: ObjectKeyValues, _ time: CivilTime
    ) throws(StoreError) -> String {
        // A parameter is looked at as it will stand: cut first.
        if case .parameter(let name) = field {
            return try parameter(name, values, length, mayHaveSlashes: mark == .withSlashes)
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
        case .stem: FileNameText(values.fileName).stem
        case .ext: FileNameText(values.fileName).ending
        case .parameter: ""
        }
    }

    private func digest(_ value: String?, _ name: String) throws(StoreError) -> String {
        guard let value else {
            throw StoreError(
                .invalidParameter, "the key template \"\(pattern)\" wants \(name), and nobody has read the bytes yet")
        }
        return value
    }

    private func parameter(
        _ name: String, _ values: ObjectKeyValues, _ length: Int?, mayHaveSlashes: Bool
    ) throws(StoreError) -> String {
        guard let value = values.parameters[name].map({ String($0.prefix(length ?? .max)) }) else {
            throw StoreError(
                .missingParameter, "the key template \"\(pattern)\" wants the parameter \"\(name)\": give it a value")
        }
        let segments = value.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let flaw: String? =
            if value.isEmpty {
                "is empty"
            } else if value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
                "holds a control character"
            } else if segments.count > 1, !mayHaveSlashes {
                "holds a slash; {+\(name)} lets it name a directory"
            } else if segments.contains(where: {
                $0.isEmpty || $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8)
            }) {
                "has a step of its path that is empty, . or .."
            } else {
                nil
            }
        guard let flaw else { return value }
        // The value itself may be somebody's name: it is not quoted.
        throw StoreError(.invalidParameter, "the parameter \"\(name)\" of an object key \(flaw)")
    }
}

/// A moment on the calendar, without a time zone database.
struct CivilTime {
    let year, month, day, hour, minute, second: Int

    init(_ date: FoundationEssentials.Date, utcOffset: Duration) {
        let total = Self.seconds(date) + max(-86_400, min(86_400, utcOffset.components.seconds))
        var (days, seconds) = total.quotientAndRemainder(dividingBy: 86_400)
        if seconds < 0 { (days, seconds) = (days - 1, seconds + 86_400) }
        (hour, minute, second) = (Int(seconds / 3_600), Int(seconds / 60 % 60), Int(seconds % 60))
        // Years begin in March here, so that the leap day is their last; 400 of them have the same days each time.
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

    /// Seconds since 1970, in the years that a calendar has four digits for: no date can trap.
    static func seconds(_ date: FoundationEssentials.Date) -> Int64 {
        Int64(max(-62_135_596_800, min(253_402_300_799, date.timeIntervalSince1970)).rounded(.down))
    }

    func text(_ number: Int, digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}

/// A file's name as it may stand in a key: from a client, so only ever a suggestion.
struct FileNameText {
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
