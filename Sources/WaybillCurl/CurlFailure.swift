import CWaybillCurl
import Glibc
import WaybillCore

/// Maps failures of libcurl and of the engine to Waybill's codes and messages.
///
/// A code does not determine the outcome, which follows from the evidence
/// (`UploadOutcome(of:status:isResponseComplete:)`).
enum CurlFailure {
    /// Returns the code and message for a libcurl error (`libcurl-errors(3)`).
    static func meaning(
        of code: CURLcode, isConnected: Bool, sawResponseHead: Bool
    ) -> (code: TransferError.Code, message: String) {
        switch code {
        case CURLE_UNSUPPORTED_PROTOCOL where isConnected:
            // libcurl returns this for a response without a status line, which would be HTTP/0.9.
            (.malformedResponse, "The answer is not HTTP. Is it an HTTP server, and is TLS wanted?")
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            (.invalidURL, "The URL can't be used. Give an absolute http or https URL.")
        case CURLE_COULDNT_RESOLVE_HOST:
            (.hostNotFound, "The host has no address. Check its spelling and the name servers.")
        case CURLE_COULDNT_RESOLVE_PROXY:
            (.hostNotFound, "The proxy has no address. Check its spelling.")
        case CURLE_COULDNT_CONNECT:
            (.cannotConnect, "Nobody accepts connections there. Check host and port, and that the server runs.")
        case CURLE_OPERATION_TIMEDOUT:
            (.connectTimeout, "The connection was not ready in time.")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED:
            (.tlsFailed, "TLS could not be agreed on. The server must speak TLS 1.2 or later.")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_CRL_BADFILE:
            (
                .certificateNotTrusted,
                "The server's certificate is not trusted. \(Remedy.trustAuthority)"
            )
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            (
                .certificateNotTrusted,
                "The server's public key is not pinned. Another server may have answered. \(Remedy.comparePins)"
            )
        case CURLE_SSL_CACERT_BADFILE:
            (.tlsSettingsUnusable, "The authorities to trust can't be read. \(Remedy.giveAuthoritiesAsPEM)")
        case CURLE_SSL_CERTPROBLEM:
            (
                .tlsSettingsUnusable,
                "The client certificate can't be used. \(Remedy.checkClientCertificate)"
            )
        case CURLE_PROXY:
            (.proxyFailed, "The proxy refused, or could not reach the server.")
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            sawResponseHead
                ? (.responseIncomplete, "The connection broke in the middle of the answer.")
                : (.connectionLost, "The connection broke before an answer came.")
        case CURLE_GOT_NOTHING:
            (.connectionLost, "The server closed the connection without an answer.")
        case CURLE_PARTIAL_FILE:
            (.responseIncomplete, "The server closed the connection in the middle of its answer.")
        case CURLE_HTTP2_STREAM where !sawResponseHead:
            (
                .connectionLost,
                "The server ended the HTTP/2 stream before it had the whole request. libcurl loses a response that comes"
                    + " together with that; over HTTP/1.1 it does not."
            )
        case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_BAD_CONTENT_ENCODING:
            (.malformedResponse, "The answer breaks the rules of HTTP. Is it an HTTP server?")
        case CURLE_SEND_FAIL_REWIND:
            (
                .resendRefused,
                "The body would have had to be sent again within one attempt, which is never done unasked."
            )
        default:
            (.other, "The transfer failed.")
        }
    }

    /// Returns whether a new connection failed because this process has no file descriptor left.
    static func isOutOfDescriptors(_ code: CURLcode?) -> Bool {
        guard let code, [CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY].contains(code)
        else { return false }
        // libcurl does not keep the errno of socket(2).
        let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor < 0 else {
            close(descriptor)
            return false
        }
        return errno == EMFILE || errno == ENFILE
    }

    static let outOfDescriptors =
        "This process has no free file descriptor. Raise its limit (ulimit -n), or run fewer uploads at once."

    /// Returns the result of an attempt for which no engine could be created.
    static func withoutEngine(_ request: TransferRequest) -> TransferEnd {
        let message = "No file descriptor or no thread is free. Raise the limits (ulimit -n, ulimit -u)."
        return TransferEnd(
            result: .failure(TransferError(.resourcesExhausted, message, outcome: .notSent)),
            evidence: TransferCounters(announced: request.body?.length))
    }

    /// Returns the message for an expired limit or another failure that the engine reports itself.
    static func message(for code: TransferError.Code, limits: TransferLimits) -> String {
        switch code {
        case .connectTimeout:
            "The connection was not ready within \(limits.connect). \(Remedy.raiseConnectLimit)"
        case .stalled: "The server took no byte for \(limits.stall). \(Remedy.raiseStallLimit)"
        case .responseTimeout:
            "The body was taken, but no whole answer came within \(limits.response). \(Remedy.raiseResponseLimit)"
        case .totalTimeout:
            "The attempt took longer than \(limits.total ?? .zero), its limit. \(Remedy.raiseTotalLimit)"
        case .bodyNotTaken: "The server answered before it had taken the whole body, and takes no more."
        case .cancelled: "Cancelled."
        default: "The transfer failed."
        }
    }

    /// Returns the code and message for a response that the assembler rejected.
    static func error(for failure: ResponseAssembler.Failure, limits: TransferLimits) -> (TransferError.Code, String) {
        switch failure {
        case .headTooLarge:
            (.responseTooLarge, "The head of the answer is larger than \(limits.responseHead).")
        case .tooManyHeaderLines:
            (.responseTooLarge, "The head of the answer has more than \(limits.responseHeadLines) lines.")
        case .bodyTooLarge:
            (
                .responseTooLarge,
                "The response is larger than \(limits.responseBody). \(Remedy.raiseResponseBodyLimit)"
            )
        case .malformedStatusLine:
            (.malformedResponse, "The answer's status line is malformed. Is it an HTTP server?")
        case .malformedContentLength:
            (.malformedResponse, "The Content-Length of the response is no length, or there are two different ones.")
        }
    }

    /// Returns a code with its description: `52 (Server returned nothing (no headers, no data))`.
    static func quote(_ code: CURLcode) -> String {
        unsafe "\(code.rawValue) (\(String(cString: curl_easy_strerror(code))))"
    }
}
