import CWaybillCurl
import Glibc
import WaybillCore

/// Maps failures of libcurl and of the engine to Waybill's codes and messages.
///
/// A code does not determine the outcome. The outcome follows from the counters of the attempt and the response
/// (`UploadOutcome(of:status:isResponseComplete:)`).
enum CurlFailure {
    /// Returns the code and message for a libcurl error (`libcurl-errors(3)`).
    static func codeAndMessage(
        of code: CURLcode, isConnected: Bool, sawResponseHead: Bool
    ) -> (code: TransferError.Code, message: String) {
        switch code {
        case CURLE_UNSUPPORTED_PROTOCOL where isConnected:
            // libcurl returns this for a response without a status line, which would be HTTP/0.9.
            (.malformedResponse, "The response is not HTTP. Check the port, and whether it requires TLS.")
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            (.invalidURL, "The URL is invalid. Use an absolute http or https URL.")
        case CURLE_COULDNT_RESOLVE_HOST:
            (.hostNotFound, "The host name could not be resolved. Check its spelling and the DNS settings.")
        case CURLE_COULDNT_RESOLVE_PROXY:
            (.hostNotFound, "The host name of the proxy could not be resolved. Check its spelling.")
        case CURLE_COULDNT_CONNECT:
            (.cannotConnect, "Connection refused, or host unreachable. Check host and port.")
        case CURLE_OPERATION_TIMEDOUT:
            (.connectTimeout, "The connection was not established in time.")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED:
            (.tlsFailed, "The TLS handshake failed. The server must support TLS 1.2 or later.")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_CRL_BADFILE:
            (
                .certificateNotTrusted,
                "The server's certificate is not trusted. \(Remedy.trustAuthority)"
            )
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            (
                .certificateNotTrusted,
                "The server's public key matches no pinned key. The server may be impersonated. \(Remedy.comparePins)"
            )
        case CURLE_SSL_CACERT_BADFILE:
            (.tlsSettingsUnusable, "The certificate authorities can't be read. \(Remedy.provideAuthoritiesAsPEM)")
        case CURLE_SSL_CERTPROBLEM:
            (
                .tlsSettingsUnusable,
                "The client certificate can't be used. \(Remedy.checkClientCertificate)"
            )
        case CURLE_PROXY:
            (.proxyFailed, "The proxy rejected the request, or could not reach the server.")
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            sawResponseHead
                ? (.responseIncomplete, "The connection was lost during the response.")
                : (.connectionLost, "The connection was lost before a response arrived.")
        case CURLE_GOT_NOTHING:
            (.connectionLost, "The server closed the connection without a response.")
        case CURLE_PARTIAL_FILE:
            (.responseIncomplete, "The server closed the connection during the response.")
        case CURLE_HTTP2_STREAM where !sawResponseHead:
            (
                .connectionLost,
                "The server ended the HTTP/2 stream before it received the whole request. libcurl discards a response"
                    + " that arrives with the reset. Use HTTP/1.1 to receive it."
            )
        case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_BAD_CONTENT_ENCODING:
            (.malformedResponse, "The response is not valid HTTP. Check that the port belongs to an HTTP server.")
        case CURLE_SEND_FAIL_REWIND:
            (
                .resendRefused,
                "libcurl had to send the body again, which would have repeated the upload. The attempt was ended instead."
            )
        default:
            (.other, "The transfer failed.")
        }
    }

    /// Returns the failure of a handle, with libcurl's description.
    static func failure(
        _ code: CURLcode, of easy: EasyHandle, isConnected: Bool, sawResponseHead: Bool
    ) -> Transfer.Failure {
        let quoted = code == CURLE_OK ? nil : quote(code)
        func failure(_ code: TransferError.Code, _ message: String) -> Transfer.Failure {
            let detail = easy.lastError
            return Transfer.Failure(
                code, detail.isEmpty ? message : "\(message) (\(detail))", transportCode: quoted)
        }
        // A proxy's response to CONNECT, for which libcurl returns an unspecific code.
        let tunnel = isConnected ? 0 : easy.long(CURLINFO_HTTP_CONNECTCODE)
        if tunnel >= 300 {
            return failure(.proxyFailed, "The proxy rejected the tunnel to the server with status \(tunnel).")
        }
        if !isConnected, isOutOfDescriptors(code) { return failure(.resourcesExhausted, outOfDescriptors) }
        let known = codeAndMessage(of: code, isConnected: isConnected, sawResponseHead: sawResponseHead)
        return failure(known.code, known.message)
    }

    /// Returns the failure of an exchange whose connection ended without a complete response.
    /// libcurl has codes for the same failures, and so for their messages.
    static func lost(_ detail: String, sawHead: Bool, sawResponse: Bool) -> Transfer.Failure {
        let equivalent = sawHead ? CURLE_PARTIAL_FILE : detail.isEmpty ? CURLE_GOT_NOTHING : CURLE_RECV_ERROR
        let (code, message) =
            sawResponse && !sawHead
            ? (.responseIncomplete, closedWithinHead)
            : codeAndMessage(of: equivalent, isConnected: true, sawResponseHead: sawHead)
        return Transfer.Failure(code, detail.isEmpty ? message : "\(message) (\(detail))")
    }

    static let closedWithinHead = "The server closed the connection within the response head."

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
        "No file descriptor is available. Raise the limit (ulimit -n), or run fewer concurrent uploads."

    /// Returns the result of an attempt for which no engine could be created.
    static func withoutEngine(_ request: TransferRequest) -> TransferEnd {
        let message = "No file descriptor or thread is available. Raise the limits (ulimit -n, ulimit -u)."
        return TransferEnd(
            result: .failure(TransferError(.resourcesExhausted, message, outcome: .notSent)),
            evidence: TransferCounters(announced: request.body?.length))
    }

    /// Returns the message for an expired time limit, or for another failure that the engine detects and not libcurl.
    static func message(for code: TransferError.Code, limits: TransferLimits) -> String {
        switch code {
        case .connectTimeout:
            "The connection was not established within \(limits.connect). \(Remedy.raiseConnectLimit)"
        case .stalled: "The server acknowledged no bytes for \(limits.stall). \(Remedy.raiseStallLimit)"
        case .responseTimeout:
            "No complete response arrived within \(limits.response). \(Remedy.raiseResponseLimit)"
        case .totalTimeout:
            "The attempt exceeded its time limit of \(limits.total ?? .zero). \(Remedy.raiseTotalLimit)"
        case .bodyNotTaken: "The server responded before it received the whole body, and stopped reading it."
        case .cancelled: "The upload was cancelled."
        default: "The transfer failed."
        }
    }

    /// Returns the code and message for a response that `ResponseAssembler` rejected.
    static func error(for failure: ResponseAssembler.Failure, limits: TransferLimits) -> (TransferError.Code, String) {
        switch failure {
        case .headTooLarge:
            (.responseTooLarge, "The response head is larger than \(limits.responseHead).")
        case .tooManyHeaderLines:
            (.responseTooLarge, "The response head has more than \(limits.responseHeadLines) lines.")
        case .bodyTooLarge:
            (
                .responseTooLarge,
                "The response is larger than \(limits.responseBody). \(Remedy.raiseResponseBodyLimit)"
            )
        case .malformedStatusLine:
            (.malformedResponse, "The status line is malformed. Check that the port belongs to an HTTP server.")
        case .malformedContentLength:
            (.malformedResponse, "The Content-Length of the response is invalid, or has conflicting values.")
        case .notHTTP:
            (.malformedResponse, "The response is not HTTP. Check the port, and whether it requires TLS.")
        case .malformedFraming:
            (.malformedResponse, "The head of the response does not define the end of its body unambiguously.")
        case .malformedChunk: (.malformedResponse, "A chunk of the response is malformed.")
        }
    }

    /// Returns a libcurl error code with its description: `52 (Server returned nothing (no headers, no data))`.
    static func quote(_ code: CURLcode) -> String {
        unsafe "\(code.rawValue) (\(String(cString: curl_easy_strerror(code))))"
    }
}
