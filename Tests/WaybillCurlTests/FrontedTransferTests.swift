import Glibc
import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillCurl

/// Accuracy of progress through TLS, and processor time with HTTP/2.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct FrontedTransferTests {
    /// Through TLS, the buffers of the proxy are also between the count and the receiver: two sockets of 32 KiB as
    /// counted by the kernel, and 16 KiB in the proxy.
    @Test func `acknowledged leads a slow receiver behind TLS by at most 256 KiB`() async throws {
        let server = try LoopbackServer(
            Behaviour.respond(200).reading(bytesPerSecond: 500 << 10), receiveBuffer: .kibibytes(32),
            keepsBodies: false)
        let front = try await TLSFront(to: server)
        let size = 1_500_000
        let comparer = TransferProgressTests.Comparer(server)
        let request = TransferRequest.post(front.url(), PatternBody(size)) {
            $0.tls.certificateAuthorities = front.authority
        }
        _ = CurlTransport().start(request, sink: comparer)
        let findings = await comparer.end()

        #expect(try findings.result?.get().head.status == .ok)
        #expect(findings.largestLead <= 256 << 10, "acknowledged led the receiver by \(findings.largestLead) bytes")
        #expect(findings.largestSentLead > 384 << 10, "sent led by only \(findings.largestSentLead) bytes")
        #expect(findings.samples.count >= 8)
        #expect(findings.samples.last?.acknowledged == Int64(size))
        #expect(findings.samples.allSatisfy { $0.acknowledged <= $0.sent && $0.accuracy == .estimated })
        for (earlier, later) in zip(findings.samples, findings.samples.dropFirst()) {
            #expect(later.acknowledged >= earlier.acknowledged && later.sent >= earlier.sent)
        }
    }

    /// A body of 1 MiB or more is passed to OpenSSL in chunks of 256 KiB. On a connection whose buffer is smaller,
    /// such a chunk is in transit for nearly a second here, and libcurl counts none of it before all of it is sent.
    @Test func `acknowledged increases within the chunks passed to TLS`() async throws {
        let server = try LoopbackServer(
            Behaviour.respond(200).reading(bytesPerSecond: 300 << 10), receiveBuffer: .kibibytes(32),
            keepsBodies: false)
        let front = try await TLSFront(to: server)
        let comparer = TransferProgressTests.Comparer(server) { limitSendBuffers(toPort: front.port, bytes: 32 << 10) }
        let request = TransferRequest.post(front.url(), PatternBody(1_200_000)) {
            $0.tls.certificateAuthorities = front.authority
        }
        _ = CurlTransport().start(request, sink: comparer)
        let findings = await comparer.end()

        #expect(try findings.result?.get().head.status == .ok)
        #expect(findings.largestLead <= 256 << 10, "acknowledged led the receiver by \(findings.largestLead) bytes")
        // By whole chunks it would be five steps, plus some more from the receiver's buffers.
        let figures = Set(findings.samples.map(\.acknowledged))
        #expect(figures.count >= 24, "\(figures.sorted())")
        for (earlier, later) in zip(findings.samples, findings.samples.dropFirst()) {
            #expect(later.acknowledged >= earlier.acknowledged && later.sent >= earlier.sent)
        }
    }

    /// Limits the kernel's send buffers for connections of this process to a port, to the given size or twice that.
    /// This simulates a connection with a small window; here the kernel would buffer megabytes.
    private func limitSendBuffers(toPort port: Int, bytes: Int32) {
        for socket in Int32(3)..<1_024 {
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = unsafe withUnsafeMutableBytes(of: &address) { bytes in
                unsafe getpeername(socket, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
            }
            guard code == 0, address.sin_family == sa_family_t(AF_INET),
                Int(UInt16(bigEndian: address.sin_port)) == port
            else { continue }
            var bytes = bytes
            _ = unsafe setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    /// Measures the processor time of the engine's thread, on that thread.
    final class Stopwatch: TransferSink {
        let wantsProgress = true
        let spent = Watched<(start: Duration?, used: Duration?, end: TransferEnd?)>((nil, nil, nil))

        func transfer(_ event: TransferEvent) {
            var time = timespec()
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            let now = Duration.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
            spent.update { spent in
                if spent.start == nil { spent.start = now }
                if case .ended(let end) = event {
                    spent.used = now - (spent.start ?? now)
                    spent.end = end
                }
            }
        }
    }

    /// libcurl 7.88 spins indefinitely when a server responds 200 over HTTP/2 and reads no more of the body.
    @Test func `an early 200 over HTTP2 neither hangs nor spins`() async throws {
        let server = try LoopbackServer()
        let front = try await HTTP2Front(to: server)
        let stopwatch = Stopwatch()
        let request = TransferRequest.post(front.url("/early"), PatternBody(32 << 20)) {
            $0.httpVersion = .http2
            $0.tls.certificateAuthorities = front.authority
            $0.limits.stall = .seconds(2)
        }
        _ = CurlTransport().start(request, sink: stopwatch)
        let spent = try await stopwatch.spent.waitUntil { $0.end != nil }
        let end = try #require(spent.end)
        #expect(try #require(spent.used) < .seconds(1), "the engine worked for \(spent.used!) on \(end)")
        guard case .failure(let error) = end.result else {
            Issue.record("a body that was not received is not a success: \(end)")
            return
        }
        #expect(error.status == .ok, "\(error)")
        #expect(end.evidence.sent < 32 << 20)
    }

    @Test func `an HTTP2 proxy killed after a whole body leaves the outcome unknown`() async throws {
        let server = try LoopbackServer(.respond(200), .neverRespond)
        let front = try await HTTP2Front(to: server)
        let transport = CurlTransport()
        var request = TransferRequest.post(front.url(), PatternBody(1_000)) {
            $0.httpVersion = .http2
            $0.tls.certificateAuthorities = front.authority
        }
        let first = Recorder()
        _ = transport.start(request, sink: first)
        _ = try await first.response()
        request.id = UploadID()
        let second = Recorder(wantsProgress: false)
        _ = transport.start(request, sink: second)
        try await server.waitUntil { $0.requests.count == 2 && $0.requests[1].bodyBytesRead == 1_000 }
        front.kill()
        let end = await second.end()
        // Kernel counts of a shared connection do not belong to this request.
        #expect(!end.evidence.isConnectionReused)
        guard case .failure(let error) = end.result else {
            Issue.record("no response was sent")
            return
        }
        #expect(error.outcome == .unknown, "\(error) \(end.evidence)")
    }
}
