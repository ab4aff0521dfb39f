import TestSupport
import Testing
import Waybill

/// HTTP/2 with nginx: success, early rejection, connection shutdown.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct HTTP2Tests {
    private let folder: TemporaryDirectory
    private let session = UploadSession()

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func options(_ front: HTTP2Front) -> UploadOptions {
        var options = UploadOptions()
        options.retry = .none
        options.transfer.httpVersion = .http2
        options.transfer.tls.certificateAuthorities = front.authority
        options.transfer.limits.stall = .seconds(2)
        return options
    }

    @Test(arguments: Shape.allCases) func `an upload over HTTP 2 arrives complete`(shape: Shape) async throws {
        let server = try LoopbackServer()
        let front = try await HTTP2Front(to: server)
        var random = SeededGenerator()
        let bytes = random.bytes(3_000_000)
        let path = try folder.write("card.jpg", bytes)
        for _ in 0..<2 {
            let response =
                switch shape {
                case .rawPUT:
                    try await session.upload(.file(path: path), to: front.url(), options: options(front))
                case .multipartPOST:
                    try await session.upload([.file("FILE", path: path)], to: front.url(), options: options(front))
                }
            #expect(response.status == .ok)
        }
        for request in server.requests {
            let arrived = shape == .rawPUT ? request.body : try Received.parts(of: request)[0].bytes
            #expect(arrived == bytes)
        }
        #expect(server.requests.count == 2)
    }

    @Test func `an early 413 over HTTP 2 is the response`() async throws {
        let server = try LoopbackServer()
        let front = try await HTTP2Front(to: server)
        let path = try folder.writeSparse("large.bin", size: 64 << 20)
        let error = await #expect(throws: UploadError.self) {
            try await session.upload(.file(path: path), to: front.url("/limited"), options: options(front))
        }
        #expect(error?.code == .rejected)
        #expect(error?.response?.status.code == 413)
        #expect(server.requests.isEmpty)
    }

    @Test func `an early 200 to a body that is not read is not a success`() async throws {
        let server = try LoopbackServer()
        let front = try await HTTP2Front(to: server)
        let path = try folder.writeSparse("large.bin", size: 64 << 20)
        let error = await #expect(throws: UploadError.self) {
            try await session.upload(.file(path: path), to: front.url("/early"), options: options(front))
        }
        #expect(error?.code == .bodyNotTaken || error?.code == .stalled, "\(String(describing: error))")
        #expect(error?.outcome == .unknown)
        #expect(server.requests.isEmpty)
    }

    @Test func `a connection closed with GOAWAY fails no upload`() async throws {
        let server = try LoopbackServer()
        let front = try await HTTP2Front(to: server)
        for _ in 0..<4 {
            let response = try await session.upload(
                .data([UInt8](repeating: 1, count: 100_000)), to: front.url("/once"), options: options(front))
            #expect(response.status == .ok)
        }
        #expect(server.requests.count == 4)
    }

    @Test func `a front that dies during an upload leaves it incomplete`() async throws {
        let server = try LoopbackServer(.stall(afterBodyBytes: 100_000), receiveBuffer: .kibibytes(64))
        let front = try await HTTP2Front(to: server)
        let path = try folder.writeSparse("large.bin", size: 64 << 20)
        var patient = options(front)
        patient.transfer.limits.stall = .seconds(30)
        let task = session.start(.file(path: path), to: front.url(), options: patient)
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 100_000 }
        front.kill()
        let error = await #expect(throws: UploadError.self) { try await task.response }
        // libcurl reports a lost connection, a broken frame or an unclosed stream, depending on what it encounters
        // first.
        let codes: [UploadError.Code] = [.connectionLost, .responseIncomplete, .malformedResponse]
        #expect(error.map { codes.contains($0.code) } == true, "\(String(describing: error))")
        #expect(error.map { FaultRow.Kind($0.outcome) } == .incomplete, "\(String(describing: error))")
    }

    @Test func `a server failing behind the front is a rejection by the front`() async throws {
        let server = try LoopbackServer(.reset(afterBodyBytes: 100_000))
        let front = try await HTTP2Front(to: server)
        let path = try folder.writeSparse("large.bin", size: 8 << 20)
        let error = await #expect(throws: UploadError.self) {
            try await session.upload(.file(path: path), to: front.url(), options: options(front))
        }
        #expect(error?.response?.status.code == 502, "\(String(describing: error))")
        #expect(error?.outcome == .rejected)
    }
}
