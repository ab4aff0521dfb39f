import HTTPTypes
import Waybill

/// A line of `-H`, parsed as by curl: `Name: value`, `Name;` for a field with an empty value, `Name:` to omit a field
/// that is sent by default. Values are secret, so no message quotes them.
enum HeaderArgument: Sendable, Hashable {
    case field(HTTPField)
    case removal(HTTPField.Name)

    init(_ line: String) throws(CommandFailure) {
        guard let end = line.firstIndex(where: { $0 == ":" || $0 == ";" }) else {
            throw .usage("-H must be 'Name: value'; one argument has no \":\".")
        }
        let text = String(line[..<end])
        guard let name = HTTPField.Name(text) else {
            // Not quoted, because it may be a credential without a field name.
            throw .usage("-H: the text before \"\(line[end])\" is not a valid header field name.")
        }
        let value = line[line.index(after: end)...].trimmingWhitespace
        if line[end] == ";" {
            guard value.isEmpty else {
                throw .usage("-H: \(text) is followed by \";\". Write '\(text): value'.")
            }
            self = .field(HTTPField(name: name, value: ""))
        } else if value.isEmpty {
            self = .removal(name)
        } else {
            guard HTTPField.isValidValue(String(value)) else {
                throw .usage("-H: the value of \(text) contains an invalid character.")
            }
            self = .field(HTTPField(name: name, value: String(value)))
        }
    }

    /// Returns the lines of a file given as `-H @file`. Empty lines are skipped.
    static func lines(of bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
            .filter { !$0.trimmingWhitespace.isEmpty }
    }
}

extension StringProtocol {
    /// The string without leading and trailing spaces and tabs.
    var trimmingWhitespace: SubSequence {
        guard let start = firstIndex(where: { $0 != " " && $0 != "\t" }),
            let last = lastIndex(where: { $0 != " " && $0 != "\t" })
        else { return self[startIndex..<startIndex] }
        return self[start...last]
    }
}
