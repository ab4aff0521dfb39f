// A second parser, optimized for reading and not for speed: it takes the whole body, and each line of the grammar is
// a line of code. The fuzzer links to this file, so it uses only public API.

import WaybillMultipart

/// Parses a body according to the grammar (RFC 2046, section 5.1.1, RFC 7578, and the decisions of
/// ``MultipartParser``), without limits except that of padding.
struct NaiveParser {
    struct Part: Hashable {
        var name: [UInt8]
        var fileName: [UInt8]?
        var content: [UInt8]
    }

    /// Returns the parts, or `nil` for a body that must be refused.
    static func parts(_ body: [UInt8], boundary: String) -> [Part]? {
        // As if a line had just ended: a body may begin with a boundary.
        let text = Array("\r\n".utf8) + body
        guard var line = nextLine(text, from: 0, boundary) else { return nil }
        // After a preamble there must be parts; otherwise bytes before the first boundary hide them.
        if line.isClosing, line.start > 2 { return nil }
        var parts: [Part] = []
        while !line.isClosing {
            // The empty line that ends the headers: its CRLF may begin the following delimiter.
            guard let blank = firstIndex(of: Array("\r\n\r\n".utf8), in: text, from: line.end - 2) else { return nil }
            let headers = blank < line.end ? [] : Array(text[line.end..<blank])
            guard let next = nextLine(text, from: blank + 2, boundary) else { return nil }
            let start = blank + 4
            let content = next.start < start ? [] : Array(text[start..<next.start])
            guard let part = part(headers, content) else { return nil }
            parts.append(part)
            line = next
        }
        return parts
    }

    private struct Line {
        var start: Int
        var end: Int
        var isClosing: Bool
    }

    private static func nextLine(_ text: [UInt8], from: Int, _ boundary: String) -> Line? {
        let delimiter = Array("\r\n--\(boundary)".utf8)
        var position = from
        while let start = firstIndex(of: delimiter, in: text, from: position) {
            var end = start + delimiter.count
            if text[end...].starts(with: "--".utf8) {
                end += 2
                while end < text.count, isBlank(text[end]) { end += 1 }
                // The end of the body or of the line. A lone CR at the end of the body is accepted, too.
                let rest = text[end...]
                guard rest.isEmpty || rest.elementsEqual("\r".utf8) || rest.starts(with: "\r\n".utf8) else {
                    return nil
                }
                return Line(start: start, end: end, isClosing: true)
            }
            while end < text.count, isBlank(text[end]) { end += 1 }
            if text[end...].starts(with: "\r\n".utf8) { return Line(start: start, end: end + 2, isClosing: false) }
            position = start + 1
        }
        return nil
    }

    private static func part(_ headers: [UInt8], _ content: [UInt8]) -> Part? {
        var lines: [[UInt8]] = [[]]
        var index = 0
        while index < headers.count {
            if headers[index...].starts(with: "\r\n".utf8) {
                lines.append([])
                index += 2
            } else {
                // A lone CR or LF and a NUL are not permitted in a line.
                if [0, 10, 13].contains(headers[index]) { return nil }
                lines[lines.count - 1].append(headers[index])
                index += 1
            }
        }
        var disposition: [UInt8]?
        var hasType = false
        for line in lines {
            guard let colon = line.firstIndex(of: 0x3A), colon > 0, line[..<colon].allSatisfy(isToken) else {
                return nil
            }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            if name == "content-type" {
                if hasType { return nil }
                hasType = true
            }
            if name == "content-disposition" {
                if disposition != nil { return nil }
                disposition = trimmed(Array(line[(colon + 1)...]))
            }
        }
        guard let disposition else { return nil }
        // A quote after a backslash is an escaped quote if the line can be parsed that way, otherwise the end.
        let readings = [
            parameters(disposition, backslashMayEnd: false), parameters(disposition, backslashMayEnd: true),
        ]
        guard let found = readings.compactMap({ $0 }).first else { return nil }
        let names = found.filter { $0.name == "name" }
        let fileNames = found.filter { $0.name == "filename" }
        guard names.count == 1, fileNames.count < 2, String(validating: names[0].value, as: UTF8.self) != nil else {
            return nil
        }
        return Part(name: names[0].value, fileName: fileNames.first?.value, content: content)
    }

    private static func parameters(
        _ value: [UInt8], backslashMayEnd: Bool
    ) -> [(name: String, value: [UInt8])]? {
        var pieces: [[UInt8]] = [[]]
        var isQuoted = false
        for (index, byte) in value.enumerated() {
            if byte == 0x22 {
                let isEscaped = isQuoted && value[index - 1] == 0x5C
                let rest = value[(index + 1)...].drop(while: isBlank)
                let mayEnd = rest.isEmpty || (backslashMayEnd && rest.first == 0x3B)
                if !isEscaped || mayEnd { isQuoted.toggle() }
            }
            if byte == 0x3B, !isQuoted { pieces.append([]) } else { pieces[pieces.count - 1].append(byte) }
        }
        guard !isQuoted, String(decoding: trimmed(pieces[0]), as: UTF8.self).lowercased() == "form-data" else {
            return nil
        }
        var result: [(String, [UInt8])] = []
        for piece in pieces.dropFirst().map(trimmed) where !piece.isEmpty {
            guard let equals = piece.firstIndex(of: 0x3D) else { return nil }
            let name = Array(piece[..<equals])
            let value = Array(piece[(equals + 1)...])
            guard !name.isEmpty, name.allSatisfy(isToken), let plain = unquoted(value) else { return nil }
            result.append((String(decoding: name, as: UTF8.self).lowercased(), plain))
        }
        return result
    }

    private static func unquoted(_ value: [UInt8]) -> [UInt8]? {
        guard value.first == 0x22 else {
            return value.isEmpty || !value.allSatisfy(isToken) ? nil : value
        }
        guard value.count >= 2, value.last == 0x22 else { return nil }
        let inner = Array(value[1..<(value.count - 1)])
        var result: [UInt8] = []
        var index = 0
        while index < inner.count {
            let rest = inner[index...]
            let escape = String(decoding: rest.prefix(3), as: UTF8.self).lowercased()
            if rest.starts(with: "\\\"".utf8) {
                result.append(0x22)
                index += 2
            } else if let byte = ["%22": 0x22, "%0d": 13, "%0a": 10][escape] as UInt8? {
                result.append(byte)
                index += 3
            } else if inner[index] == 0x22 {
                return nil
            } else {
                result.append(inner[index])
                index += 1
            }
        }
        return result
    }

    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        var result = bytes[...].drop(while: isBlank)
        while let last = result.last, isBlank(last) { result.removeLast() }
        return Array(result)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

    private static func isToken(_ byte: UInt8) -> Bool {
        byte > 32 && byte < 127 && !"()<>@,;:\\\"/[]?={}".utf8.contains(byte)
    }

    private static func firstIndex(of wanted: [UInt8], in text: [UInt8], from: Int) -> Int? {
        guard text.count >= wanted.count else { return nil }
        return (from...max(from, text.count - wanted.count)).first { text[$0...].starts(with: wanted) }
    }
}
