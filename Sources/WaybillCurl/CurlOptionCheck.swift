import CWaybillCurl
import WaybillCore

/// Decides which libcurl options a caller may set, and determines their numbers.
///
/// libcurl's own table of options (`curl_easy_option_by_name(3)`) provides type and number. Options that the engine
/// depends on are rejected: if one of them were changed, the engine would send a different request than the one that
/// was checked, or misinterpret the result.
enum CurlOptionCheck {
    /// Returns the number of the option after checking that the type of its value matches.
    ///
    /// - Throws: ``TransferError/Code/invalidRequest``.
    static func number(of option: CurlOption) throws(TransferError) -> CURLoption {
        guard let found = find(option.name) else {
            throw invalidRequest(option, "does not exist in version \(CurlLibrary.loaded.version). Check the spelling.")
        }
        guard !reserved.contains(found.name), !reservedSuffixes.contains(where: { found.name.hasSuffix($0) }) else {
            throw invalidRequest(option, "is reserved, or has a property of its own. Remove it.")
        }
        let fits =
            switch (option.value, found.type) {
            case (.number, CURLOT_LONG), (.number, CURLOT_VALUES), (.large, CURLOT_OFF_T), (.text, CURLOT_STRING),
                (.secret, CURLOT_STRING), (.list, CURLOT_SLIST), (.bytes, CURLOT_BLOB):
                true
            default: false
            }
        guard fits else { throw invalidRequest(option, "requires a value of another type: \(kind(found.type)).") }
        guard !strings(of: option).contains(where: { $0.utf8.contains { $0 < 0x20 || $0 == 0x7F } }) else {
            throw invalidRequest(option, "must not contain control characters.")
        }
        return found.id
    }

    private static func strings(of option: CurlOption) -> [String] {
        switch option.value {
        case .text(let text): [text]
        case .secret(let secret): [secret.value]
        case .list(let list): list
        case .number, .large, .bytes: []
        }
    }

    private static func find(_ name: String) -> (name: String, id: CURLoption, type: curl_easytype)? {
        let entry: UnsafePointer<curl_easyoption>?
        if name.hasPrefix("#") {
            guard let number = UInt32(name.dropFirst()) else { return nil }
            unsafe entry = curl_easy_option_by_id(CURLoption(rawValue: number))
        } else {
            let bare = name.uppercased().hasPrefix("CURLOPT_") ? String(name.dropFirst(8)) : name
            unsafe entry = curl_easy_option_by_name(bare)
        }
        guard let found = unsafe entry?.pointee else { return nil }
        // An alias has the number of the actual option, whose name is looked up below.
        let canonical = unsafe curl_easy_option_by_id(found.id)?.pointee ?? found
        return unsafe (String(cString: canonical.name), found.id, found.type)
    }

    private static func kind(_ type: curl_easytype) -> String {
        switch type {
        case CURLOT_LONG, CURLOT_VALUES: "a number"
        case CURLOT_OFF_T: "a large number"
        case CURLOT_STRING: "a string or a secret"
        case CURLOT_SLIST: "a list"
        case CURLOT_BLOB: "bytes"
        default: "a pointer or a callback, which is not supported"
        }
    }

    private static func invalidRequest(_ option: CurlOption, _ message: String) -> TransferError {
        TransferError(.invalidRequest, "The libcurl option \"\(option.name)\" \(message)", outcome: .notSent)
    }

    private static let reservedSuffixes = ["_VERIFYPEER", "_VERIFYHOST", "FUNCTION", "DATA"]

    private static let reserved: Set<String> = Set(
        """
        URL PORT REQUEST_TARGET PATH_AS_IS DEFAULT_PROTOCOL PROTOCOLS PROTOCOLS_STR REDIR_PROTOCOLS REDIR_PROTOCOLS_STR
        DISALLOW_USERNAME_IN_URL WS_OPTIONS HTTP_VERSION HTTP09_ALLOWED HTTP200ALIASES
        FOLLOWLOCATION MAXREDIRS POSTREDIR AUTOREFERER UNRESTRICTED_AUTH TRANSFERTEXT CRLF
        POST PUT UPLOAD HTTPGET NOBODY CUSTOMREQUEST POSTFIELDS POSTFIELDSIZE POSTFIELDSIZE_LARGE COPYPOSTFIELDS HTTPPOST
        MIMEPOST MIME_OPTIONS INFILESIZE INFILESIZE_LARGE RESUME_FROM RESUME_FROM_LARGE RANGE UPLOAD_BUFFERSIZE PIPEWAIT
        EXPECT_100_TIMEOUT_MS KEEP_SENDING_ON_ERROR IGNORE_CONTENT_LENGTH HTTP_TRANSFER_DECODING HTTP_CONTENT_DECODING
        HTTPHEADER HEADEROPT HEADER SUPPRESS_CONNECT_HEADERS FAILONERROR CONNECT_ONLY
        NOSIGNAL NOPROGRESS VERBOSE STDERR ERRORBUFFER PRIVATE SHARE QUICK_EXIT WILDCARDMATCH
        TIMEOUT TIMEOUT_MS CONNECTTIMEOUT CONNECTTIMEOUT_MS SERVER_RESPONSE_TIMEOUT LOW_SPEED_LIMIT LOW_SPEED_TIME
        MAX_SEND_SPEED_LARGE
        PROXY PROXYPORT PROXYTYPE PROXYUSERPWD PROXYUSERNAME PROXYPASSWORD NOPROXY UNIX_SOCKET_PATH ABSTRACT_UNIX_SOCKET
        RESOLVE CONNECT_TO IPRESOLVE DNS_USE_GLOBAL_CACHE
        HTTPAUTH USERPWD USERNAME PASSWORD LOGIN_OPTIONS XOAUTH2_BEARER AWS_SIGV4 NETRC NETRC_FILE
        COOKIE COOKIEFILE COOKIEJAR COOKIELIST COOKIESESSION ALTSVC ALTSVC_CTRL HSTS HSTS_CTRL
        SSLVERSION CAINFO CAINFO_BLOB CAPATH PINNEDPUBLICKEY SSLCERT SSLCERT_BLOB SSLCERTTYPE SSLKEY SSLKEY_BLOB
        SSLKEYTYPE KEYPASSWD
        PROXY_SSLVERSION PROXY_CAINFO PROXY_CAINFO_BLOB PROXY_CAPATH PROXY_PINNEDPUBLICKEY PROXY_SSLCERT
        PROXY_SSLCERT_BLOB PROXY_SSLCERTTYPE PROXY_SSLKEY PROXY_SSLKEY_BLOB PROXY_SSLKEYTYPE PROXY_KEYPASSWD
        """.split { $0 == " " || $0 == "\n" }.map(String.init))
}

extension EasyHandle {
    /// Sets options that were checked.
    ///
    /// - Returns: The lists that have to live as long as the handle is in use.
    func set(_ options: [CurlOption]) throws(TransferError) -> [StringListBox] {
        var lists: [StringListBox] = []
        for option in options {
            let number = try CurlOptionCheck.number(of: option)
            switch option.value {
            case .number(let value): set(number, value)
            case .large(let value): set(number, large: value)
            case .text(let value): set(number, value)
            case .secret(let value): set(number, value.value)
            case .bytes(let value): set(number, blob: value)
            case .list(let value):
                let list = StringListBox(value)
                lists.append(list)
                set(number, list.strings)
            }
        }
        if CurlLibrary.reusesBoundConnections, options.contains(where: Self.bindsByPrefix) {
            set(CURLOPT_FRESH_CONNECT, true)
            set(CURLOPT_FORBID_REUSE, true)
        }
        return lists
    }

    /// Returns whether an option binds the connection in a form that libcurl ignores when it selects one to reuse.
    private static func bindsByPrefix(_ option: CurlOption) -> Bool {
        guard option.name.uppercased() == "INTERFACE", case .text(let value) = option.value else { return false }
        return value.hasPrefix("if!") || value.hasPrefix("host!") || value.hasPrefix("ifhost!")
    }
}

/// A string list that can be stored in an array.
final class StringListBox {
    let strings: StringList

    init(_ strings: [String]) {
        self.strings = StringList(strings)
    }
}
