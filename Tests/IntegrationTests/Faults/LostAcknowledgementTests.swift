import Glibc
import TestSupport
import Testing
import Waybill

/// A network that loses an acknowledgement, and a front that loses a connection: the server has read all.
@Suite(.timeLimit(.minutes(1))) struct LostAcknowledgementTests {
    private func options() -> UploadOptions {
        var options = UploadOptions()
        options.retry = RetryPolicy(maxRetries: 3, baseDelay: .milliseconds(1))
        return options
    }

    /// From now on the socket that leads to this port hears nothing but resets, as if all else were lost on the way: a
    /// filter of the kernel's (socket(7), `SO_ATTACH_FILTER`, number 26) drops it before TCP sees it.
    private func deafen(towards port: Int) -> Int {
        // Of the TCP header: the flags; with RST the packet passes, without it is dropped.
        // Four instructions, eight bytes each: load byte 13, jump by bit 2, take all, take nothing.
        var bytes: [UInt64] = [13 << 32 | 0x30, 4 << 32 | 1 << 24 | 0x45, 0xFFFF_FFFF << 32 | 6, 6]
        var deafened = 0
        for descriptor in Int32(0)..<1_024 {
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let found = unsafe withUnsafeMutablePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe getpeername(descriptor, $0, &size)
                }
            }
            guard found == 0, address.sin_family == AF_INET, Int(UInt16(bigEndian: address.sin_port)) == port else {
                continue
            }
            let answer = unsafe bytes.withUnsafeMutableBytes { filter in
                var fprog = (UInt64(4), UInt64(UInt(bitPattern: filter.baseAddress!)))
                return unsafe setsockopt(descriptor, SOL_SOCKET, 26, &fprog, 16)
            }
            if answer == 0 { deafened += 1 }
        }
        return deafened
    }

    @Test(arguments: [1, 1_000])
    func `an upload that was read whole and whose acknowledgement was lost is not sent again`(size: Int) async throws {
        let server = try LoopbackServer(.respond(200), .closeWithoutAnswer(.reset), otherwise: .respond(200))
        let session = UploadSession()
        let bytes = [UInt8](repeating: 7, count: size)
        _ = try await session.upload(.data(bytes), to: server.url(), options: options())
        #expect(deafen(towards: server.port) == 1)
        let end = await Result { try await session.upload(.data(bytes), to: server.url(), options: options()) }
        #expect(server.requests.count { $0.body == bytes } == 2, "\(end)")
        guard case .failure(let error as UploadError) = end else { return #expect(Bool(false), "\(end)") }
        #expect(error.outcome == .unknown)
    }

    /// What stands behind a gateway may have stored the upload while the gateway gave up waiting for it (RFC 9110 sections
    /// 15.6.3 and 15.6.5).
    @Test(arguments: [502, 504]) func `a gateway that lost the answer does not make a POST go out twice`(status: Int)
        async throws
    {
        let server = try LoopbackServer(.respond(status), otherwise: .respond(200))
        let form: MultipartForm = [.text("amount", "100")]
        _ = try? await UploadSession().upload(form, to: server.url(), options: options())
        #expect(server.requests.count == 1)
    }

    @Test func `an upload over HTTP2 that was taken whole before the front died is unknown`() async throws {
        let server = try LoopbackServer(.respond(200), .neverAnswer)
        let front = try await HTTP2Front(to: server)
        var options = options()
        options.transfer.httpVersion = .http2
        options.transfer.tls.certificateAuthorities = front.authority
        let session = UploadSession()
        _ = try await session.upload(.data([1, 2, 3]), to: front.url(), options: options)
        let task = session.start(.data([1, 2, 3]), to: front.url(), options: options)
        try await server.waitUntil { $0.requests.count == 2 && $0.requests[1].bodyBytesRead == 3 }
        front.kill()
        let error = await #expect(throws: UploadError.self) { try await task.response }
        #expect(error?.outcome == .unknown, "\(String(describing: error))")
        #expect(error?.attempts.count == 1)
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ work: () async throws -> Success) async {
        do { self = .success(try await work()) } catch { self = .failure(error) }
    }
}
