import WaybillCore

/// The escaping of special characters in names, for servers that do not read what browsers send.
///
/// Plain names, which may contain letters and digits of any script, have the same bytes in the first two styles. Use
/// ``standard`` unless a server is known to need another style.
public struct MultipartCompatibility: Sendable, Hashable {
    enum Escaping: Sendable, Hashable {
        case standard, backslash, percent
    }

    let escaping: Escaping
    let addsExtendedFileName: Bool

    /// Whether a part may have an empty field name, which can occur in a form that is forwarded. If `false`, an empty
    /// name fails with ``BodyError/Code/emptyFieldName``.
    public var allowsEmptyNames = false

    /// The style of browsers, curl and most libraries (WHATWG HTML, "multipart/form-data encoding algorithm"): `"` as
    /// `%22`, CR as `%0D`, LF as `%0A`, everything else as UTF-8.
    public static let standard = MultipartCompatibility(.standard)

    /// `"` as `\"` and `\` as `\\`, as written by curl's `--form-escape`, curl before 7.81 and Firefox before 90.
    ///
    /// For servers that do not decode `%22` and therefore show it to users: Go's `mime/multipart`, PHP, Rack, Django,
    /// aiohttp, busboy and multer, python-multipart and Starlette, Python's `email`. Not for Node's
    /// `Response.formData()`, which rejects the form, nor for formidable and commons-fileupload, which misread it. Line
    /// breaks are `%0D%0A` in this style, too: a bare line break would end the header.
    public static let backslashEscapes = MultipartCompatibility(.backslash)

    /// Adds a `filename*=UTF-8''…` parameter (RFC 5987, RFC 8187) to `filename` for names that are not plain ASCII.
    ///
    /// RFC 7578 section 4.2 forbids it in forms, but some servers read it: busboy and multer, which interpret a plain
    /// `filename` as Latin-1 by default, and werkzeug, aiohttp, Django and Rack, which prefer it. Node's
    /// `Response.formData()` rejects such a form, and firewalls that know CVE-2026-53537 may reject it.
    public static let extendedFileNames = MultipartCompatibility(.standard, addsExtendedFileName: true)

    /// Percent-encodes all bytes of a name outside plain ASCII, `"`, `%`, `\` and control characters (RFC 7578 section
    /// 4.2).
    ///
    /// For servers that accept no bytes above 127 in headers: old CGI programs and mail libraries. aiohttp's client
    /// writes file names this way. The server must decode the names explicitly.
    public static let percentEncodedNames = MultipartCompatibility(.percent)

    private init(_ escaping: Escaping, addsExtendedFileName: Bool = false) {
        self.escaping = escaping
        self.addsExtendedFileName = addsExtendedFileName
    }

    /// Appends the quoted value of `name`, with every line break as CRLF.
    ///
    /// - Returns: `false` if the name contains a NUL and cannot be written.
    func append(name: String, to block: inout [UInt8]) -> Bool {
        appendPlain(name, to: &block)
            || appendEscaped(FormText.withNormalLineBreaks(SystemPath.bytes(of: name)), to: &block)
    }

    /// Appends the quoted value of `filename`.
    ///
    /// - Returns: `false` if the name contains a NUL and cannot be written.
    func append(fileName: String, to block: inout [UInt8]) -> Bool {
        appendPlain(fileName, to: &block) || appendEscaped(SystemPath.bytes(of: fileName), to: &block)
    }

    /// Appends a string if none of its bytes needs escaping.
    private func appendPlain(_ text: String, to block: inout [UInt8]) -> Bool {
        let start = block.count
        block.append(text: text)
        if block[start...].allSatisfy(FormText.isPlain) { return true }
        block.removeSubrange(start...)
        return false
    }

    /// The standard style does not escape `%`, because no server decodes `%25`.
    private func appendEscaped(_ bytes: [UInt8], to block: inout [UInt8]) -> Bool {
        guard !bytes.contains(0) else { return false }
        for byte in bytes {
            switch (byte, escaping) {
            case (FormText.lineFeed, _), (FormText.carriageReturn, _): Self.appendPercent(byte, to: &block)
            case (UInt8(ascii: "\""), .standard): block += "%22".utf8
            case (UInt8(ascii: "\""), .backslash), (UInt8(ascii: "\\"), .backslash):
                block += [UInt8(ascii: "\\"), byte]
            case (UInt8(ascii: "\""), .percent), (UInt8(ascii: "%"), .percent), (UInt8(ascii: "\\"), .percent),
                (0..<0x20, .percent), (0x7F..., .percent):
                Self.appendPercent(byte, to: &block)
            default: block.append(byte)
            }
        }
        return true
    }

    /// Appends the parameter `filename*` if this file name needs it.
    func appendExtended(_ fileName: String, to block: inout [UInt8]) {
        let isPlain = { (byte: UInt8) in FormText.isPlain(byte) || byte == UInt8(ascii: "%") }
        // The parameter declares UTF-8, so it is omitted for a name with other bytes.
        guard addsExtendedFileName, !fileName.utf8.allSatisfy(isPlain), SystemPath.isUTF8(fileName) else { return }
        block += "; filename*=UTF-8''".utf8
        for byte in fileName.utf8 {
            // The attr-char of RFC 8187 section 3.2.1: a token without `*`, `'` and `%`.
            if FormText.isToken(byte), !"*'%".utf8.contains(byte) {
                block.append(byte)
            } else {
                Self.appendPercent(byte, to: &block)
            }
        }
    }

    private static func appendPercent(_ byte: UInt8, to block: inout [UInt8]) {
        block += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
}
