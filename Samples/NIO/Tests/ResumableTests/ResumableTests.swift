import HTTPTypes
import Testing
import Waybill

/// Resumable uploads to the server of swift-nio-extras, which supports interop version 6 of the IETF draft.
@Suite(.timeLimit(.minutes(1)))
struct ResumableTests {
    private static let file = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
    private static let form: MultipartForm = [.text("USERNO", "42"), .data("FILE", file, fileName: "身份证.bin")]

    private func options(_ protocol: ResumeProtocol = .draft) -> UploadOptions {
        var options = UploadOptions.resumable(`protocol`)
        options.resume?.records = nil
        options.resume?.firstAppend = .mebibytes(1)
        options.retry.baseDelay = .milliseconds(1)
        options.transfer.limits.stall = .seconds(5)
        options.transfer.limits.response = .seconds(5)
        return options
    }

    /// Verifies that the application received the form exactly once.
    private func expectForm(_ server: ResumableServer) async throws {
        try #require(server.arrivals.count == 1)
        let arrival = server.arrivals[0]
        #expect(arrival.head.method == .post)
        let chunks = AsyncStream { continuation in
            continuation.yield(arrival.body)
            continuation.finish()
        }
        var parts: [String: [UInt8]] = [:]
        for try await part in try IncomingForm(chunks, contentType: arrival.head.headerFields[.contentType] ?? "") {
            for try await chunk in part.chunks { parts[part.fileName ?? part.name, default: []] += chunk }
        }
        #expect(parts == ["USERNO": Array("42".utf8), "身份证.bin": Self.file])
    }

    /// In the first append, in the second one, and in the last one.
    private static let positions = [500_000, 1_500_000, 3_100_000]

    @Test(arguments: [[], [.close], [.reset], [.silence], [.close, .reset, .silence]] as [[ResumableServer.Cut]])
    func `an interrupted form arrives once and whole`(_ cuts: [ResumableServer.Cut]) async throws {
        let server = try await ResumableServer(cuts: zip(Self.positions, cuts).map { ($0, $1) })
        let response = try await UploadSession().upload(Self.form, to: server.url, options: options())
        #expect(response.status == .ok && response.attempts.count == cuts.count + 1)
        try await expectForm(server)
        try await server.stop()
    }

    @Test(arguments: [ResumeProtocol.draft, .automatic])
    func `an interrupted file arrives once and whole`(_ protocol: ResumeProtocol) async throws {
        let server = try await ResumableServer(cuts: Self.positions.map { ($0, .reset) })
        let response = try await UploadSession().upload(.data(Self.file), to: server.url, options: options(`protocol`))
        #expect(response.status == .ok)
        #expect(server.arrivals.map(\.body) == [Self.file] && server.arrivals.map(\.head.method) == [.put])
        try await server.stop()
    }

    @Test func `the content of an interrupted creation is kept after its URL was announced with 104`() async throws {
        let server = try await ResumableServer()
        let session = UploadSession()
        // The first response to a creation shows that the server sends 104.
        _ = try await session.upload(.data([1, 2, 3]), to: server.url, options: options())
        server.cut(after: 500_000, .reset)
        _ = try await session.upload(.data(Self.file), to: server.url, options: options())
        #expect(server.arrivals.map(\.body) == [[1, 2, 3], Self.file] && server.creations == 2)
        try await server.stop()
    }

    @Test func `an upload that the server has lost begins anew and arrives once`() async throws {
        let server = try await ResumableServer(cuts: [(1_500_000, .loss)])
        _ = try await UploadSession().upload(Self.form, to: server.url, options: options())
        #expect(server.creations == 2)
        try await expectForm(server)
        try await server.stop()
    }

    @Test func `a lost last response leaves the outcome unknown, and the form is not sent again`() async throws {
        // The server removes an upload when it is complete.
        let server = try await ResumableServer(reply: .none)
        let error = await #expect(throws: UploadError.self) {
            try await UploadSession().upload(Self.form, to: server.url, options: options())
        }
        #expect(error?.code == .resumptionFailed && error?.outcome == .unknown)
        try await expectForm(server)
        try await server.stop()
    }

    @Test(arguments: [400, 409, 413, 422])
    func `a rejection by the application is final`(_ status: Int) async throws {
        let server = try await ResumableServer(reply: .status(.init(code: status)))
        let error = await #expect(throws: UploadError.self) {
            try await UploadSession().upload(Self.form, to: server.url, options: options())
        }
        #expect(error?.code == .rejected && error?.outcome == .rejected, "\(String(describing: error))")
        #expect(error?.response?.status.code == status)
        try await expectForm(server)
        try await server.stop()
    }
}
