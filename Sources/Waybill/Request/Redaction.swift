package import HTTPTypes
import WaybillCore

/// Removes secrets from printed text.
///
/// A list of sensitive fields could never be complete, so this is a list of harmless ones: a header value is shown only
/// if its field is known to contain no credential.
package enum Redaction {
    /// Returns a URL without user, password, query and fragment: `https://<redacted>@host/path?<redacted>`.
    package static func url(_ url: String) -> String {
        var rest = Substring(url)
        var tail = ""
        if let fragment = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        if let query = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            rest = rest[..<query]
            tail = "?\(Secret.placeholder)"
        }
        // Without a scheme this is not a URL, but the text before an @ may be a password nevertheless.
        let authority = authorityRange(in: rest) ?? rest.startIndex..<rest.endIndex
        guard let at = rest[authority].utf8.lastIndex(of: UInt8(ascii: "@")) else {
            return escaped(String(rest)) + tail
        }
        return escaped(String(rest[..<authority.lowerBound])) + Secret.placeholder + escaped(String(rest[at...])) + tail
    }

    /// Returns the value of a field if it is harmless, otherwise the placeholder.
    package static func value(of field: HTTPField) -> String {
        harmless.contains(field.name) ? escaped(field.value) : Secret.placeholder
    }

    /// Returns untrusted text with control characters, escapes and bidirectional marks made visible, so that it can't
    /// manipulate a terminal or log. A byte of a file name that is not UTF-8 becomes `\xE9`.
    package static func escaped(_ text: String) -> String {
        // Fast path: most text is plain ASCII.
        guard text.utf8.contains(where: { $0 < 0x20 || $0 >= 0x7F }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.controlsOutput {
                result.append(contentsOf: scalar.outputEscape.unicodeScalars)
            } else if let byte = SystemPath.byte(of: scalar) {
                result.append(contentsOf: "\\x\(String(byte, radix: 16, uppercase: true))".unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    /// Returns the escaped text in double quotes.
    package static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

    /// Returns the texts that must not be printed about this request: user, password, query, and the values of its
    /// headers.
    static func secrets(url: String, proxy: String?, headers: HTTPFields) -> [String] {
        var found = headers.filter { !harmless.contains($0.name) }.map(\.value)
        // The scheme before a credential, such as "Bearer", is not secret. Redact the credential alone as well.
        found += found.compactMap { $0.split(separator: " ", maxSplits: 1).dropFirst().first.map(String.init) }
        let whole = url[..<(url.utf8.firstIndex(of: UInt8(ascii: "#")) ?? url.endIndex)]
        if let query = whole.utf8.firstIndex(of: UInt8(ascii: "?")) {
            let text = whole[whole.utf8.index(after: query)...]
            found.append(String(text))
            found += text.utf8.split(separator: UInt8(ascii: "&")).compactMap { pair in
                pair.firstIndex(of: UInt8(ascii: "=")).map { String(Substring(pair[pair.index(after: $0)...])) }
            }
        }
        for text in [whole, proxy?[...] ?? ""] {
            guard let authority = authorityRange(in: text),
                let at = text[authority].utf8.lastIndex(of: UInt8(ascii: "@"))
            else { continue }
            let user = text[authority.lowerBound..<at]
            found.append(String(user))
            found += user.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1).dropFirst().map {
                String(Substring($0))
            }
        }
        // Texts of one or two characters occur everywhere. Replacing them would protect nothing.
        return Set(found).filter { $0.utf8.count > 2 }.sorted { $0.utf8.count > $1.utf8.count }
    }

    /// Returns the text with every secret replaced.
    package static func scrub(_ text: String, of secrets: [String]) -> String {
        secrets.reduce(text) { text, secret in
            guard text.utf8.count >= secret.utf8.count else { return text }
            return text.utf8.split(separator: secret.utf8, omittingEmptySubsequences: false)
                .map { String(Substring($0)) }.joined(separator: Secret.placeholder)
        }
    }

    // Bytewise, here and above: a combining mark after a delimiter would form another Character.
    private static func authorityRange(in url: Substring) -> Range<Substring.Index>? {
        let bytes = url.utf8
        var slashes = bytes.startIndex
        while slashes < bytes.endIndex, !bytes[slashes...].starts(with: "://".utf8) {
            slashes = bytes.index(after: slashes)
        }
        guard slashes < bytes.endIndex else { return nil }
        let start = bytes.index(slashes, offsetBy: 3)
        return start..<(bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex)
    }

    /// Fields that are known to carry no credential.
    static let harmless: Set<HTTPField.Name> = [
        .accept, .acceptEncoding, .acceptLanguage, .cacheControl, .contentDisposition, .contentEncoding,
        .contentLanguage, .contentType, .date, .userAgent, .tusResumable, .uploadOffset, .uploadLength, .uploadComplete,
        .uploadDraftInteropVersion, .methodOverride,
    ]
}
