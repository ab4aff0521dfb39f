internal import CTestSupport

/// A form as PostObject parses it: the fields before the file, and the file. Parsed with the search of the C library,
/// independently of the parser under test.
struct OSSForm {
    struct Field {
        let name: String
        let value: [UInt8]
        let filename: String?
        let contentType: String?
    }

    private(set) var fields: [Field] = []
    private(set) var file: Field

    /// - Throws: ``OSSRefusal`` if the form is invalid.
    init(_ body: [UInt8], contentType: String) throws {
        guard let boundary = Self.parameter("boundary", of: contentType), !boundary.isEmpty else {
            throw Self.malformed("The Content-Type has no boundary.")
        }
        let delimiter = Array("\r\n--\(boundary)".utf8)
        // The first delimiter may be at the very start.
        let bytes = [13, 10] + body
        guard var start = Self.find(delimiter, in: bytes, from: 0).map({ $0 + delimiter.count }) else {
            throw Self.malformed("The body has no boundary.")
        }
        var found: Field?
        while !bytes[start...].starts(with: Array("--".utf8)) {
            guard bytes[start...].starts(with: [13, 10]), let end = Self.find(delimiter, in: bytes, from: start) else {
                throw Self.malformed("A part has no end.")
            }
            let field = try Self.field(bytes[(start + 2)..<end])
            // Parts after the file are ignored.
            if found == nil {
                if field.name == "file" { found = field } else { fields.append(field) }
            }
            start = end + delimiter.count
        }
        guard let found else {
            throw OSSRefusal(
                400, "IncorrectNumberOfFilesInPOSTRequest", "POST requires exactly one file upload per request.",
                ec: "0017-00000601")
        }
        file = found
        for field in fields where field.value.count > 2 << 20 || field.name.utf8.count > 8_192 {
            throw OSSRefusal(
                400, "FieldItemTooLong", "Your \(field.name.prefix(64)) is too long.", ec: "0017-00000604")
        }
    }

    /// Returns the value of a field by its exact name.
    func value(_ name: String) -> String? { fields.first { $0.name == name }?.value.text }

    private static func field(_ part: ArraySlice<UInt8>) throws -> Field {
        let bytes = Array(part)
        let gap = Array("\r\n\r\n".utf8)
        guard let end = find(gap, in: bytes, from: 0) else { throw malformed("A part has no empty line.") }
        var disposition = ""
        var contentType: String?
        for line in bytes[..<end].text.split(separator: "\r\n") {
            let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { throw malformed("A line of a part has no colon: \(line)") }
            switch halves[0].lowercased() {
            case "content-disposition": disposition = String(halves[1].trimmingWhitespace)
            case "content-type": contentType = String(halves[1].trimmingWhitespace)
            default: break
            }
        }
        guard disposition.hasPrefix("form-data"), let name = parameter("name", of: disposition) else {
            throw malformed("A part has no name.")
        }
        return Field(
            name: name, value: Array(bytes[(end + gap.count)...]), filename: parameter("filename", of: disposition),
            contentType: contentType)
    }

    /// Returns a parameter with or without quotation marks.
    private static func parameter(_ name: String, of value: String) -> String? {
        var isInQuotes = false
        let pieces = value.split { character in
            if character == "\"" { isInQuotes.toggle() }
            return character == ";" && !isInQuotes
        }
        for piece in pieces.dropFirst() {
            let halves = piece.trimmingWhitespace.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, halves[0].lowercased() == name else { continue }
            let isQuoted = halves[1].hasPrefix("\"") && halves[1].hasSuffix("\"") && halves[1].utf8.count > 1
            return isQuoted ? String(halves[1].dropFirst().dropLast()) : String(halves[1])
        }
        return nil
    }

    private static func find(_ pattern: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard start < bytes.count else { return nil }
        let found = unsafe bytes.withUnsafeBytes { bytes in
            unsafe cts_find(bytes.baseAddress! + start, bytes.count - start, pattern, pattern.count)
        }
        return found < 0 ? nil : start + found
    }

    private static func malformed(_ message: String) -> OSSRefusal {
        OSSRefusal(
            400, "MalformedPOSTRequest",
            "The body of your POST request is not well-formed multipart/form-data. \(message)",
            ec: "0017-00000602")
    }
}
