import TestSupport

/// A difference between what a reader reports and what the form contains.
struct Difference: Hashable, Sendable, CustomStringConvertible {
    enum Place: String, Sendable {
        case name, fileName
        /// The only part of the form was omitted.
        case part
        /// The whole form was rejected.
        case refusal
    }

    let form: String
    let part: Int
    let place: Place
    /// As bytes: two strings that are equal in Swift may be different names.
    let says: [UInt8]?

    init(form: String, part: Int = 0, place: Place, says: String?) {
        self.form = form
        self.part = part
        self.place = place
        self.says = says.map { Array($0.utf8) }
    }

    var description: String {
        let text = says.map { String(decoding: $0, as: UTF8.self).debugDescription } ?? "nothing"
        return "\(form), part \(part), \(place.rawValue): says \(text)"
    }
}

/// The result of comparing what a reader reports with what the forms contain.
struct Comparison {
    private(set) var differences: Set<Difference> = []
    /// Differences that no table may excuse: a missing or misplaced part, a wrong content or type.
    private(set) var faults: [String] = []

    init(_ batch: ReaderBatch, _ reading: Reading, _ habits: ForeignReader.Habits) {
        if reading.forms.map(\.id) != batch.forms.map(\.id) {
            faults.append("\(reading.forms.count) forms came back of \(batch.forms.count)")
        }
        for (meant, read) in zip(batch.forms, reading.forms) {
            guard let parts = read.parts else {
                // The reason is only printed: its wording changes between versions.
                print("\(meant.id): refused: \(read.refusal ?? "without a word")")
                differences.insert(Difference(form: meant.id, place: .refusal, says: nil))
                continue
            }
            compare(parts, with: Self.parts(meant.parts, habits), in: meant.id)
        }
    }

    private mutating func compare(_ read: [Reading.Part], with meant: [TablePart.Read], in form: String) {
        if read.isEmpty, meant.count == 1 {
            differences.insert(Difference(form: form, place: .part, says: nil))
            return
        }
        guard read.count == meant.count else {
            faults.append("\(form): \(read.count) parts instead of \(meant.count)")
            return
        }
        for (index, (read, meant)) in zip(read, meant).enumerated() {
            if Array(read.content) != meant.content {
                faults.append(
                    "\(form), part \(index): a content of \(read.content.count) bytes, not \(meant.content.count)")
            }
            if read.contentType != meant.contentType {
                faults.append(
                    "\(form), part \(index): type \(read.contentType ?? "none"), not \(meant.contentType ?? "none")")
            }
            note(read.name, meant.name, .name, form, index)
            note(read.fileName, meant.fileName, .fileName, form, index)
        }
    }

    private mutating func note(
        _ read: String?, _ meant: [UInt8]?, _ place: Difference.Place, _ form: String, _ index: Int
    ) {
        if read.map({ Array($0.utf8) }) != meant {
            differences.insert(Difference(form: form, part: index, place: place, says: read))
        }
    }

    /// Returns the contents of a form as a reader with these habits is able to report them.
    private static func parts(_ meant: [TablePart.Read], _ habits: ForeignReader.Habits) -> [TablePart.Read] {
        var parts = meant
        if habits.contains(.hidesTypesOfFields) {
            for index in parts.indices where parts[index].fileName == nil { parts[index].contentType = nil }
        }
        for index in parts.indices {
            if habits.contains(.cutsTypes) {
                parts[index].contentType = parts[index].contentType.map { String($0.prefix { $0 != ";" }) }
            }
            if habits.contains(.ignoresNamelessFiles), parts[index].fileName == [] { parts[index].contentType = "" }
        }
        if habits.contains(.reportsFieldsFirst) {
            parts = parts.filter { $0.fileName == nil } + parts.filter { $0.fileName != nil }
        }
        if habits.contains(.keepsLastOfEqualNames) {
            // At the position of the first, with the content of the last.
            var last: [TablePart.Read] = []
            for part in parts {
                if let index = last.firstIndex(where: { $0.name == part.name }) {
                    last[index] = part
                } else {
                    last.append(part)
                }
            }
            parts = last
        }
        return parts
    }
}
