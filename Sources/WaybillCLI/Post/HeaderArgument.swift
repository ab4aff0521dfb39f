import HTTPTypes
import Waybill

/// One `-H` line, as curl reads it: `Name: value`, `Name;` for a field with an empty value, `Name:` to leave out a field
/// that would be sent unasked. Values are secrets: no message quotes one.
enum HeaderArgument: Sendable, Hashable {
    case field(HTTPField)
    case removal(HTTPField.Name)

    init(_ line: String) throws(CommandFailure) {
        guard let end = line.firstIndex(where: { $0 == ":" || $0 == ";" }) else {
            throw .usage("-H takes 'Name: value'; one of them has no \":\".")
        }
        let text = String(line[..<end])
        guard let name = HTTPField.Name(text) else {
            // Not quoted: it may be a credential whose name was forgotten.
            throw .usage("-H: what stands before the \"\(line[end])\" can't be the name of a header field.")
        }
        let value = line[line.index(after: end)...].trimmingBlanks
        if line[end] == ";" {
            guard value.isEmpty else {
                throw .usage("-H: \(text) is followed by \";\". Write '\(text): value'.")
            }
            self = .field(HTTPField(name: name, value: ""))
        } else if value.isEmpty {
            self = .removal(name)
        } else {
            guard HTTPField.isValidValue(String(value)) else {
                throw .usage("-H: the value of \(text) holds a character that no header field may have.")
            }
            self = .field(HTTPField(name: name, value: String(value)))
        }
    }

    /// The lines of a file named by `-H @file`: empty lines are skipped.
    static func lines(of bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
            .filter { !$0.trimmingBlanks.isEmpty }
    }
}

extension StringProtocol {
    /// Without spaces and tabs at both ends.
    var trimmingBlanks: SubSequence {
        guard let start = firstIndex(where: { $0 != " " && $0 != "\t" }),
            let last = lastIndex(where: { $0 != " " && $0 != "\t" })
        else { return self[startIndex..<startIndex] }
        return self[start...last]
    }
}
