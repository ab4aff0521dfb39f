import WaybillCurl

extension UploadSession.Configuration {
    /// Returns a value for ``userAgent`` that names a program and the libraries it uses: `Clerk/2.1 Waybill
    /// libcurl/7.88.1`.
    ///
    /// Characters that are not allowed in a product name (RFC 9110 section 5.6.2) are replaced with `-`; non-ASCII
    /// characters are removed.
    public static func userAgent(for program: String, version: String? = nil) -> String {
        var agent = token(program)
        if let version, !token(version).isEmpty { agent += "/\(token(version))" }
        return "\(agent.isEmpty ? "" : "\(agent) ")Waybill libcurl/\(CurlLibrary.loaded.version)"
    }

    private static func token(_ text: String) -> String {
        let bytes = text.utf8.filter { $0 < 0x80 }.map { byte -> UInt8 in
            let isLetter = (0x61...0x7A).contains(byte | 0x20)
            let isAllowed = isLetter || (0x30...0x39).contains(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            return isAllowed ? byte : UInt8(ascii: "-")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
