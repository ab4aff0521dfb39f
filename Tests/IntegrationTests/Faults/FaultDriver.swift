import HTTPTypes
import TestSupport
import Testing
import Waybill

/// Runs a row of the fault table in a session and checks the result against the table and the transferred bytes.
struct FaultDriver: Sendable {
    /// The limit that ends a row. The upload must end within twice this time.
    static let limit = Duration.milliseconds(500)

    let row: FaultRow
    let shape: Shape
    /// Creates what precedes the server: nothing, TLS or a proxy.
    var path: @Sendable (LoopbackServer) async throws -> Route = { Route(url: $0.url("/fault")) }

    /// The route to the server.
    struct Route: Sendable {
        var url: String
        var configure: @Sendable (inout TransferOptions) -> Void = { _ in }
        /// Kept alive as long as the upload.
        var holder: (any Sendable)?
        /// Whether the kernel's count of acknowledged bytes refers to the server itself.
        var isDirect = true
    }

    /// The result of one run of a row.
    struct Report: Sendable {
        let result: Result<UploadResponse, UploadError>
        let duration: Duration
        let log: FaultLog
        let bodySize: Int
        let requests: [RecordedRequest]
        let complaints: [String]
        let isDirect: Bool
    }

    /// Runs the row, and repeats it up to four times if it exceeds its time: the limit tests the code, not the load
    /// of the machine, so one run in five must meet it.
    func check() async throws {
        let longest = (row.limit == .none ? Self.generous : Self.limit) * 2 * Slowness.factor
        var report = try await run()
        for _ in 0..<4 where row.limit != .none && report.duration > longest { report = try await run() }
        expect(report.duration <= longest, "it took too long", report)
        expectEnding(report)
        expectOneEnd(report)
        expectBytes(report)
    }

    // MARK: Running

    private static let generous = Duration.seconds(25)

    private func run() async throws -> Report {
        let folder = try TemporaryDirectory()
        let file = try folder.writeSparse("card.bin", size: row.bodySize)
        let content: UploadContent =
            switch shape {
            case .rawPUT: .file(path: file, contentType: "image/jpeg")
            case .multipartPOST: .form(Self.form(file))
            }
        let length = shape == .rawPUT ? row.bodySize : Int(try #require(try await Self.form(file).prepared().length))
        let server = try LoopbackServer(
            connections: row.arrival.map { [$0] } ?? [], receiveBuffer: .kibibytes(64), keepsBodies: false)
        for behaviour in row.behaviours(length) { server.script(behaviour) }
        let route = try await path(server)
        let place = try destination(server: route.url)

        let log = FaultLog()
        var configuration = UploadSession.Configuration()
        configuration.logger = log.logger
        let session = UploadSession(configuration: configuration)
        var options = self.options
        route.configure(&options.transfer)
        let request = UploadRequest(
            shape == .rawPUT ? .put : .post, place.url, content: content, options: options)
        let task = session.start(request).onProgress { log.saw($0) }.onCompletion { log.completed($0) }
        let result = await Self.result(of: task)
        try await log.waitForCompletion()
        await session.close()
        withExtendedLifetime((folder, place.holder, route.holder)) {}
        server.stop()
        return Report(
            result: result, duration: duration(log.entries, since: log.start), log: log, bodySize: length,
            requests: server.requests,
            complaints: server.state.violations, isDirect: route.isDirect)
    }

    /// Returns the time that the row's limit refers to: the time since the last movement, or since the start.
    private func duration(_ entries: FaultLog.Entries, since start: ContinuousClock.Instant) -> Duration {
        let isAboutMoves = row.limit == .stall || row.limit == .response
        return (entries.endedAt ?? .now) - (isAboutMoves ? entries.lastMove : start)
    }

    private static func form(_ file: String) -> MultipartForm {
        [.text("TOKEN", .secret("s3cr3t")), .file("FILE", path: file, fileName: "card.jpg")]
    }

    private static func result(of task: UploadTask) async -> Result<UploadResponse, UploadError> {
        do throws(UploadError) { return .success(try await task.response) } catch { return .failure(error) }
    }

    private var options: UploadOptions {
        var options = UploadOptions()
        options.retry = .none
        options.transfer.expectContinue = row.expectContinue
        func value(_ limit: FaultRow.Limit) -> Duration { row.limit == limit ? Self.limit : Self.generous }
        options.transfer.limits.connect = value(.connect)
        options.transfer.limits.stall = value(.stall)
        options.transfer.limits.response = value(.response)
        options.transfer.limits.total = value(.total)
        return options
    }

    private func destination(server: String) throws -> (url: String, holder: (any Sendable)?) {
        switch row.target {
        case .server: return (server, nil)
        case .closedPort:
            let port = try ClosedPort()
            return (port.url(), port)
        case .blackHole:
            let hole = try UnresponsivePort()
            return (hole.url(), hole)
        case .absentName: return ("http://\(TestHost.absent()):80/", nil)
        case .hangingName:
            let name = HangingHostName()
            return ("http://\(name.host):80/", name)
        }
    }

    // MARK: Checks

    private func expect(_ isMet: Bool, _ what: String, _ report: Report) {
        #expect(isMet, "\(row), \(shape): \(what)\nThe upload's log:\(report.log.text)")
    }

    private func expectEnding(_ report: Report) {
        let ending: FaultRow.Ending =
            switch report.result {
            case .success(let response): .success(response.status.code)
            case .failure(let error): .failure(error.code, FaultRow.Kind(error.outcome))
            }
        expect(row.endings.contains(ending), "ended with \(ending), the table says \(row.endings)", report)
    }

    private func expectOneEnd(_ report: Report) {
        let entries = report.log.entries
        expect(entries.completions == 1, "\(entries.completions) completions", report)
        expect(entries.terminalSnapshots == 1, "\(entries.terminalSnapshots) terminal snapshots", report)
        expect(entries.attemptEnds == 1, "\(entries.attemptEnds) ends of attempts", report)
        expect(entries.uploadEnds == 1, "\(entries.uploadEnds) ends of the upload in the log", report)
    }

    /// Checks that the outcome is consistent with the bytes at both ends.
    private func expectBytes(_ report: Report) {
        let complete = report.requests.count { $0.isComplete }
        expect(complete <= 1, "the server saw \(complete) complete requests", report)
        expect(report.complaints.isEmpty, "\(report.complaints)", report)
        guard case .failure(let error) = report.result else {
            expect(complete == 1, "a success, and no complete request", report)
            return
        }
        let size = Int64(report.bodySize)
        let read = Int64(report.requests.map(\.bodyBytesRead).max() ?? 0)
        expect(error.acknowledged <= error.sent && error.sent <= size, "the counts are out of order", report)
        expect(error.attempts.count == 1, "\(error.attempts.count) attempts", report)
        switch error.outcome {
        case .notSent: expect(error.acknowledged == 0 && read == 0, "not sent, but bytes arrived", report)
        case .incomplete(let acknowledged):
            expect(acknowledged == error.acknowledged, "two counts of what was acknowledged", report)
            expect(error.sent < size, "incomplete, but all of it was sent", report)
            expect(complete == 0, "incomplete, but the server has all of it", report)
        case .unknown:
            let wasSuccessful = error.attempts.last?.status?.kind == .successful
            expect(error.sent == size || wasSuccessful, "unknown, though \(size - error.sent) bytes never left", report)
        case .rejected: expect(error.response != nil, "rejected without an answer", report)
        case .processed: expect(false, "processed, which only resumable uploads can determine", report)
        }
        if report.isDirect, error.outcome != .rejected, !row.resets(bodyOf: report.bodySize) {
            expect(error.acknowledged >= read, "acknowledged less than the server has read (\(read))", report)
        }
    }
}
