import HTTPTypes
import CWaybillCurl
import WaybillCore

/// Determines the result of a transfer from libcurl's code and the evidence.
extension CurlTransfer {
    /// Determines the result, reports the last progress to the sink, and closes the body.
    ///
    /// - Parameters:
    ///   - code: libcurl's result, or `nil` if the engine ends the transfer.
    ///   - reason: The engine's reason for ending it.
    /// - Returns: The result, which the sink receives after the handle is removed from libcurl.
    func end(code: CURLcode?, reason: TransferError.Code? = nil) -> TransferEnd {
        isRunning = false
        if let reason, engineFailure == nil {
            engineFailure = (reason, CurlFailure.message(for: reason, limits: request.options.limits), nil)
        }
        let (progress, isAcknowledgedNow) = measureProgress()
        // TLS sends a close alert before the socket is closed, which is not yet acknowledged at the last check.
        let isAcknowledged = isAcknowledgedNow || hasReportedAcknowledged
        let sent = max(progress.sent, mostSent)
        let evidence = TransferCounters(
            announced: request.body?.length, sent: sent, acknowledged: progress.acknowledged,
            requestAcknowledged: assembler.head != nil || acknowledgedCount(sent) > 0,
            isBodyComplete: isBodySent(sent), sawResponseHead: assembler.head != nil,
            isConnectionReused: connection?.isReused == true && probe != nil)
        let result = result(code: code, evidence: evidence, isAcknowledged: isAcknowledged)
        if case .success(let response) = result {
            if isFetchingChallenge { reportHead(response.head) }
            report(progress, isAcknowledged: isAcknowledged)
        }
        closeBody()
        recordExpectContinue()
        return TransferEnd(result: result, evidence: evidence, metrics: metrics)
    }

    /// Reports the response head, after the acknowledged bytes: a response to the whole body follows them.
    func reportHead(_ head: HTTPResponse) {
        if mayUseHTTP2, feed != nil, !isBodySent(uploaded) { receivedEarlyResponse = true }
        if !hasReportedAcknowledged {
            let (progress, isAcknowledged) = measureProgress()
            report(progress, isAcknowledged: isAcknowledged)
        }
        sink?.transfer(.responseHead(head))
    }

    /// Returns the number of bytes that the peer acknowledged. If the socket has no such count, written bytes count as
    /// acknowledged. Over HTTP/2, libcurl does not report when the head was sent, so it counts once the connection is
    /// ready.
    private func acknowledgedCount(_ sent: Int64) -> UInt64 {
        guard probe == nil else { return probe?.sample()?.acknowledged ?? 0 }
        return mayUseHTTP2 && connection != nil ? UInt64(max(1, sent)) : UInt64(max(0, sent))
    }

    /// Whether libcurl wants to repeat a request whose response is final: a second challenge, or a 417 to the whole
    /// body, which libcurl does not know to be complete if parts of it were sent directly.
    var isResponseFinal: Bool {
        isChallengedAgain || assembler.head?.status.code == 417 && feed.map { isBodySent($0.bytesRead) } == true
    }

    private func recordExpectContinue() {
        guard expectsContinue, !isFetchingChallenge, connection != nil, let engine else { return }
        let bytesRead = feed?.bytesRead ?? 0
        if expectationFailed || assembler.head?.status.code == 417 {
            engine.expectContinueCache.record(.rejected, for: origin)
        } else if assembler.sawContinue || (assembler.head != nil && bytesRead == 0) {
            engine.expectContinueCache.record(.supported, for: origin)
        } else if bytesRead > 0 {
            engine.expectContinueCache.record(.ignored, for: origin)
        }
    }

    /// Reports the end to the sink and releases the sink.
    func reportEnd(_ end: TransferEnd) {
        let last = sink
        sink = nil
        last?.transfer(.ended(end))
    }

    private func result(
        code: CURLcode?, evidence: TransferCounters, isAcknowledged: Bool
    ) -> Result<TransferResponse, TransferError> {
        if isResponseFinal, engineFailure == nil, let head = assembler.head,
            code == CURLE_SEND_FAIL_REWIND || code == CURLE_ABORTED_BY_CALLBACK
        {
            return .success(TransferResponse(head: head, body: assembler.body))
        }
        if let own = engineFailure {
            return failure(own.code, own.message, evidence: evidence, curl: code, cause: own.cause)
        }
        guard code == CURLE_OK || isCompleteDespiteReset(code) else {
            // A proxy's response to CONNECT, for which libcurl returns an unspecific code.
            let tunnel = connection == nil ? easy?.long(CURLINFO_HTTP_CONNECTCODE) ?? 0 : 0
            if tunnel >= 300 {
                return failure(
                    .proxyFailed, "The proxy rejected the tunnel to the server with status \(tunnel).",
                    evidence: evidence, curl: code)
            }
            if connection == nil, CurlFailure.isOutOfDescriptors(code) {
                return failure(.resourcesExhausted, CurlFailure.outOfDescriptors, evidence: evidence, curl: code)
            }
            let known = CurlFailure.codeAndMessage(
                of: code ?? CURLE_OK, isConnected: connection != nil, sawResponseHead: evidence.sawResponseHead)
            return failure(known.code, known.message, evidence: evidence, curl: code)
        }
        guard let head = assembler.head else {
            return failure(
                .responseIncomplete, "The server closed the connection within the response head.",
                evidence: evidence,
                curl: code)
        }
        // A success status before the whole body was received does not confirm the whole body.
        if head.status.kind == .successful, feed != nil, !isAcknowledged || receivedEarlyResponse {
            return failure(
                .bodyNotTaken, "The server responded with \(head.status.code) before it received the whole body.",
                evidence: evidence, curl: code)
        }
        return .success(TransferResponse(head: head, body: assembler.body))
    }

    /// Returns whether the server sent a complete response over HTTP/2 and ended the stream before it had received the
    /// whole body (RFC 9113 section 8.1). libcurl 7.88 then fails to send the rest; it sets an error text only for a
    /// stream that did not end cleanly.
    private func isCompleteDespiteReset(_ code: CURLcode?) -> Bool {
        code == CURLE_HTTP2_STREAM && assembler.head != nil && easy?.lastError.isEmpty == true
    }

    private func failure(
        _ code: TransferError.Code, _ message: String, evidence: TransferCounters, curl: CURLcode?,
        cause: (any Error)? = nil
    ) -> Result<TransferResponse, TransferError> {
        let quoted = curl.flatMap { $0 == CURLE_OK ? nil : CurlFailure.quote($0) }
        let detail = easy?.lastError ?? ""
        let isOwn = engineFailure != nil
        return .failure(
            TransferError(
                code, isOwn || detail.isEmpty ? message : "\(message) (\(detail))",
                outcome: UploadOutcome(of: evidence, status: assembler.head?.status),
                transportCode: isOwn ? nil : quoted, status: assembler.head?.status, cause: cause))
    }

    private var metrics: TransferMetrics {
        var metrics = TransferMetrics()
        guard easy != nil else { return metrics }
        metrics.nameLookup = easy!.microseconds(CURLINFO_NAMELOOKUP_TIME_T)
        metrics.connect = easy!.microseconds(CURLINFO_CONNECT_TIME_T)
        metrics.tls = easy!.microseconds(CURLINFO_APPCONNECT_TIME_T)
        metrics.total = easy!.microseconds(CURLINFO_TOTAL_TIME_T)
        metrics.firstByte = min(timeToResponse, metrics.total)
        metrics.connection = connection
        let body = CurlLibrary.countsBodyInRequestSize ? feed?.sentDirectly ?? 0 : uploaded
        metrics.requestBytes = Int64(easy!.long(CURLINFO_REQUEST_SIZE)) + body
        metrics.sendfileBytes = feed?.sentDirectly ?? 0
        metrics.responseBytes = Int64(easy!.long(CURLINFO_HEADER_SIZE)) + easy!.offset(CURLINFO_SIZE_DOWNLOAD_T)
        metrics.connectionsMade = easy!.long(CURLINFO_NUM_CONNECTS)
        metrics.httpVersion = EasyHandle.httpVersionName(easy!.long(CURLINFO_HTTP_VERSION))
        return metrics
    }
}
