import TestSupport

/// A difference between what a reader reports and what the form contains.
struct Difference: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, Sendable {
        case name, fileName
        /// The only part of the form was omitted.
        case part
        /// The whole form was rejected.
        case refusal
    }

    let form: String
    let part: Int
    let kind: Kind
    /// As bytes: two strings that are equal in Swift may be different names.
    let reported: [UInt8]?

    init(form: String, part: Int = 0, kind: Kind, reported: String?) {
        self.form = form
        self.part = part
        self.kind = kind
        self.reported = reported.map { Array($0.utf8) }
    }

    var description: String {
        let text = reported.map { String(decoding: $0, as: UTF8.self).debugDescription } ?? "nothing"
        return "\(form), part \(part), \(kind.rawValue): reported \(text)"
    }
}

/// The result of comparing what a reader reports with what the forms contain.
struct Comparison {
    private(set) var differences: Set<Difference> = []
    /// Differences that no table may excuse: a missing or misplaced part, a wrong content or type.
    private(set) var faults: [String] = []

    init(_ batch: ReaderBatch, _ reading: Reading, _ limitations: ForeignReader.Limitations) {
        if reading.forms.map(\.id) != batch.forms.map(\.id) {
            faults.append("\(reading.forms.count) of \(batch.forms.count) forms were returned")
        }
        for (expected, read) in zip(batch.forms, reading.forms) {
            guard let parts = read.parts else {
                // The reason is only printed: its wording changes between versions.
                print("\(expected.id): rejected: \(read.refusal ?? "no reason given")")
                differences.insert(Difference(form: expected.id, kind: .refusal, reported: nil))
                continue
            }
            compare(parts, with: Self.parts(expected.parts, limitations), in: expected.id)
        }
    }

    private mutating func compare(_ read: [Reading.Part], with expected: [TablePart.Read], in form: String) {
        if read.isEmpty, expected.count == 1 {
            differences.insert(Difference(form: form, kind: .part, reported: nil))
            return
        }
        guard read.count == expected.count else {
            faults.append("\(form): \(read.count) parts instead of \(expected.count)")
            return
        }
        for (index, (read, expected)) in zip(read, expected).enumerated() {
            if Array(read.content) != expected.content {
                faults.append(
                    "\(form), part \(index): a content of \(read.content.count) bytes, not \(expected.content.count)")
            }
            if read.contentType != expected.contentType {
                faults.append(
                    "\(form), part \(index): type \(read.contentType ?? "none"), not \(expected.contentType ?? "none")")
            }
            compareName(read.name, expected.name, .name, form, index)
            compareName(read.fileName, expected.fileName, .fileName, form, index)
        }
    }

    private mutating func compareName(
        _ read: String?, _ expected: [UInt8]?, _ kind: Difference.Kind, _ form: String, _ index: Int
    ) {
        if read.map({ Array($0.utf8) }) != expected {
            differences.insert(Difference(form: form, part: index, kind: kind, reported: read))
        }
    }

    /// Returns the contents of a form as a reader with these limitations is able to report them.
    private static func parts(_ expected: [TablePart.Read], _ limitations: ForeignReader.Limitations) -> [TablePart
        .Read]
    {
        var parts = expected
        if limitations.contains(.hidesTypesOfFields) {
            for index in parts.indices where parts[index].fileName == nil { parts[index].contentType = nil }
        }
        for index in parts.indices {
            if limitations.contains(.dropsTypeParameters) {
                parts[index].contentType = parts[index].contentType.map { String($0.prefix { $0 != ";" }) }
            }
            if limitations.contains(.ignoresUnnamedFiles), parts[index].fileName == [] { parts[index].contentType = "" }
        }
        if limitations.contains(.reportsFieldsFirst) {
            parts = parts.filter { $0.fileName == nil } + parts.filter { $0.fileName != nil }
        }
        if limitations.contains(.keepsLastOfEqualNames) {
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
