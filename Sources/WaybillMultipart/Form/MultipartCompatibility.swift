import WaybillCore

/// How names that are not plain are written, for servers that don't read what browsers send.
///
/// Plain names, letters and digits of any script included, have the same bytes in the first two. Leave it at
/// ``standard`` unless a server is known to need another.
public struct MultipartCompatibility: Sendable, Hashable {
    enum Escaping: Sendable, Hashable {
        case standard, backslash, percent
    }

    let escaping: Escaping
    let addsExtendedFileName: Bool

    /// Whether a part may have an empty field name, as one of a form that is forwarded can. `false`: a name that is missing is an
    /// error, ``BodyError/Code/emptyFieldName``.
    public var allowsEmptyNames = false

    /// What browsers, curl and most libraries send (WHATWG HTML, "multipart/form-data encoding algorithm"): `"` as `%22`,
    /// CR as `%0D`, LF as `%0A`, anything else as UTF-8.
    public static let standard = MultipartCompatibility(.standard)

    /// `"` as `\"` and `\` as `\\`, as curl's `--form-escape`, curl before 7.81 and Firefox before 90 wrote them.
    ///
    /// For servers that decode no `%22` and therefore show it to people: Go's `mime/multipart`, PHP, Rack, Django,
    /// aiohttp, busboy and multer, python-multipart and Starlette, Python's `email`. Not for Node's
    /// `Response.formData()`, which refuses the form, nor for formidable and commons-fileupload, which misread it. Line
    /// breaks are `%0D%0A` here, too: a bare one would end the header.
    public static let backslashEscapes = MultipartCompatibility(.backslash)

    /// Besides `filename`, for names that are not plain ASCII, a `filename*=UTF-8''…` (RFC 5987, RFC 8187).
    ///
    /// RFC 7578 section 4.2 forbids it in forms, and some servers read it all the same: busboy and multer, which take a plain
    /// `filename` for Latin-1 unless told otherwise, and werkzeug, aiohttp, Django and Rack, which prefer it.
    /// Node's `Response.formData()` refuses such a form, and firewalls that know CVE-2026-53537 may.
    public static let extendedFileNames = MultipartCompatibility(.standard, addsExtendedFileName: true)

    /// Every byte of a name that is not plain ASCII, and `"`, `%`, `\` and control characters, as `%` and two digits
    /// (RFC 7578 section 4.2).
    ///
    /// For servers that take no bytes above 127 in headers: old CGI programs and mail libraries. aiohttp's client writes
    /// file names like that. The server has to decode them by itself.
    public static let percentEncodedNames = MultipartCompatibility(.percent)

    private init(_ escaping: Escaping, addsExtendedFileName: Bool = false) {
        self.escaping = escaping
        self.addsExtendedFileName = addsExtendedFileName
    }

    /// Appends what stands between the quotes of `name`, with every line break as CRLF.
    ///
    /// - Returns: Whether it can be written: not with a NUL.
    func append(name: String, to block: inout [UInt8]) -> Bool {
        appendPlain(name, to: &block)
            || appendEscaped(FormText.withNormalLineBreaks(SystemPath.bytes(of: name)), to: &block)
    }

    /// Appends what stands between the quotes of `filename`.
    ///
    /// - Returns: Whether it can be written: not with a NUL.
    func append(fileName: String, to block: inout [UInt8]) -> Bool {
        appendPlain(fileName, to: &block) || appendEscaped(SystemPath.bytes(of: fileName), to: &block)
    }

    /// Appends a text if every byte of it is written as it is.
    private func appendPlain(_ text: String, to block: inout [UInt8]) -> Bool {
        let start = block.count
        block.append(text: text)
        if block[start...].allSatisfy(FormText.isPlain) { return true }
        block.removeSubrange(start...)
        return false
    }

    /// In the standard form `%` stays as it is: nobody would decode a `%25`.
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

    /// Appends the parameter `filename*`, if this file name wants one.
    func appendExtended(_ fileName: String, to block: inout [UInt8]) {
        let isPlain = { (byte: UInt8) in FormText.isPlain(byte) || byte == UInt8(ascii: "%") }
        // The parameter says that it is UTF-8, so a name that is not can have none.
        guard addsExtendedFileName, !fileName.utf8.allSatisfy(isPlain), SystemPath.isUTF8(fileName) else { return }
        block += "; filename*=UTF-8''".utf8
        for byte in fileName.utf8 {
            // The attr-char of RFC 8187 section 3.2.1: a token without * ' and %.
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
