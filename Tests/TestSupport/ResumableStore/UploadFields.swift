internal import Crypto
internal import FoundationEssentials

/// Field values of the protocols for resumable uploads. No code is shared with the code under test.
package enum UploadFields {
    /// Returns the value of a Boolean Item (RFC 9651), or `nil` if the field is missing or has another type.
    static func boolean(_ values: [String]) -> Bool? {
        switch item(values) {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    /// Returns the value of an Integer Item (RFC 9651) that is not negative, or `nil`.
    static func integer(_ values: [String]) -> Int? {
        item(values).flatMap { $0.utf8.count <= 15 ? digits($0) : nil }
    }

    /// Returns the value of a field that consists of decimal digits and occurs once, or `nil`.
    static func number(_ values: [String]) -> Int? { values.count == 1 ? digits(values[0]) : nil }

    /// Returns the media type without its parameters, in lower case.
    static func mediaType(_ value: String?) -> String? {
        value.map { String(String($0.prefix { $0 != ";" }).trimmingWhitespace).lowercased() }
    }

    /// Returns the pairs of an `Upload-Metadata` (tus), or `nil` if it is invalid.
    static func metadata(_ text: String) -> [String: [UInt8]]? {
        var result: [String: [UInt8]] = [:]
        for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = pair.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            let key = String(words.first ?? "")
            guard !key.isEmpty, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }), result[key] == nil,
                let value = base64(words.count > 1 ? String(words[1]) : "")
            else { return nil }
            result[key] = value
        }
        return result
    }

    /// Returns an `Upload-Checksum` (tus), or `nil` if it is malformed.
    static func checksum(_ text: String) -> (algorithm: String, value: [UInt8])? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let value = base64(String(words[1])), !value.isEmpty else { return nil }
        return (String(words[0]), value)
    }

    /// Returns the checksum of bytes, or `nil` if the algorithm is unknown.
    package static func digest(_ algorithm: String, _ bytes: [UInt8]) -> [UInt8]? {
        switch algorithm {
        case "sha1": Array(Insecure.SHA1.hash(data: bytes))
        case "sha256", "sha-256": Array(SHA256.hash(data: bytes))
        case "sha-512": Array(SHA512.hash(data: bytes))
        default: nil
        }
    }

    /// Returns whether all digests of a `Content-Digest` or `Repr-Digest` (RFC 9530) with known algorithms match.
    static func matches(_ values: [String], _ bytes: [UInt8]) -> Bool {
        values.joined(separator: ",").split(separator: ",").allSatisfy { member in
            let halves = member.trimmingWhitespace.split(separator: "=", maxSplits: 1)
            guard let actual = digest(String(halves.first ?? ""), bytes), halves.first != "sha1",
                halves.first != "sha256"
            else { return true }
            return halves.count == 2 && halves[1] == ":\(Data(actual).base64EncodedString()):"
        }
    }

    /// Returns the value of a `Repr-Digest` with SHA-256.
    static func reprDigest(_ bytes: [UInt8]) -> String {
        "sha-256=:\(Data(SHA256.hash(data: bytes)).base64EncodedString()):"
    }

    private static func base64(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map { Array($0) } }

    private static func digits(_ text: String) -> Int? {
        let isNumber = !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return isNumber ? Int(text) : nil
    }

    /// Returns the bare item of an Item (RFC 9651, section 3.3). Its parameters are checked and removed. Several field
    /// lines form a List, which is not an Item.
    private static func item(_ values: [String]) -> String? {
        guard values.count == 1 else { return nil }
        let pieces = values[0].split(separator: ";", omittingEmptySubsequences: false)
        for parameter in pieces.dropFirst() {
            let halves = parameter.drop { $0 == " " }.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let key = halves[0].utf8
            guard let first = key.first, first == UInt8(ascii: "*") || isLowercase(first),
                key.allSatisfy({ isLowercase($0) || "0123456789_-.*".utf8.contains($0) }),
                halves.count == 1 || !halves[1].isEmpty
            else { return nil }
        }
        return String(pieces[0])
    }

    private static func isLowercase(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") }
}

extension ScriptedResponse {
    /// The number of bytes of the head, with its empty line; `nil` if the bytes contain no complete head.
    var headSize: Int? {
        let end = Array("\r\n\r\n".utf8)
        guard bytes.count >= end.count else { return nil }
        return (0...(bytes.count - end.count)).first { bytes[$0..<($0 + end.count)].elementsEqual(end) }.map {
            $0 + end.count
        }
    }

    /// Returns whether the head has a field.
    func has(_ name: String) -> Bool { headLines.dropFirst().contains { Self.isField($0, name) } }

    /// Returns the response with a field replaced, added, or removed (`nil`).
    func setting(_ name: String, _ value: String?) -> ScriptedResponse {
        guard let size = headSize else { return self }
        var lines = headLines
        let index = lines.dropFirst().firstIndex { Self.isField($0, name) }
        lines = Array(lines.prefix(1)) + lines.dropFirst().filter { !Self.isField($0, name) }
        if let value { lines.insert("\(name): \(value)", at: min(index ?? lines.count, lines.count)) }
        var copy = self
        copy.bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + bytes[size...]
        if name.lowercased() == "connection" { copy.closes = value?.lowercased() == "close" }
        return copy
    }

    /// The response without its content, as for HEAD.
    var withoutContent: ScriptedResponse {
        guard let size = headSize else { return self }
        var copy = self
        copy.bytes = Array(bytes[..<size])
        return copy
    }

    private var headLines: [String] {
        guard let size = headSize else { return [] }
        return String(decoding: bytes[..<(size - 4)], as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: false
        ).map(String.init)
    }

    private static func isField(_ line: String, _ name: String) -> Bool {
        line.prefix { $0 != ":" }.lowercased() == name.lowercased()
    }
}
