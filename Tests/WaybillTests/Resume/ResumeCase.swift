import TestSupport
import Testing
import WaybillCore
import WaybillMultipart

@testable import Waybill

/// One case of the conformance list: a server with faults, and the expected result of an upload to it.
struct ResumeCase: Sendable, CustomTestStringConvertible {
    /// The expected result.
    enum Expectation: Sendable {
        /// The application received the body exactly once, and its response arrived.
        case delivered
        /// The upload failed, and the application ran this often.
        case failed(UploadError.Code, Outcome, runs: Int = 0)
    }

    /// An outcome without its number.
    enum Outcome: String, Sendable {
        case notSent, incomplete, rejected, unknown, processed

        init(_ outcome: UploadOutcome) {
            self =
                switch outcome {
                case .notSent: .notSent
                case .incomplete: .incomplete
                case .rejected: .rejected
                case .unknown: .unknown
                case .processed: .processed
                }
        }
    }

    static let all: [ResumableServer.Dialect] = [.draft8, .draft6, .tus]
    static let drafts: [ResumableServer.Dialect] = [.draft8, .draft6]

    var testDescription: String
    /// The protocols for which the case is run.
    var dialects = ResumeCase.all
    var length = 300_000
    /// Whether the body is a stream of unknown length, of which a copy is kept.
    var isStream = false
    /// The method of the options; `nil` for the one of the server.
    var method: ResumeProtocol?
    var expected = Expectation.delivered
    var configure: @Sendable (inout ResumableServer.Settings) -> Void = { _ in }
    var prepare: @Sendable (ResumableServer) -> Void = { _ in }
    var options: @Sendable (inout UploadOptions) -> Void = { _ in }
    /// The number of removals that the server receives.
    var removals = 0
    /// Additional checks of what the server has seen.
    var check: @Sendable (ResumableServer.State, Result<UploadResponse, UploadError>) -> Void = { _, _ in }

    init(_ name: String) { testDescription = name }
}

/// One upload of a case.
struct ResumeFixture: ~Copyable {
    let server: ResumableServer
    let session: UploadSession
    let body: [UInt8]
    let isStream: Bool
    let options: UploadOptions

    init(_ row: ResumeCase, _ dialect: ResumableServer.Dialect) throws {
        server = try ResumableServer(dialect) { settings in
            // Its own rows use it: with it, the first append is part of the creation.
            settings.tusExtensions.removeAll { $0 == "creation-with-upload" }
            row.configure(&settings)
        }
        row.prepare(server)
        var configuration = UploadSession.Configuration()
        configuration.jitter = { 0 }
        session = UploadSession(configuration: configuration)
        body = Array(SeededGenerator.pattern(row.length))
        isStream = row.isStream
        var options = UploadOptions.resumable(row.method ?? (dialect == .tus ? .tus : .draft))
        options.resume?.records = nil
        options.resume?.firstAppend = .bytes(100_000)
        options.resume?.maximumAppend = .bytes(100_000)
        options.resume?.appendMultiple = .bytes(1_000)
        options.retry.maxRetries = 3
        row.options(&options)
        self.options = options
    }

    // A row's closure may still refer to the server, so it is not stopped by its release.
    deinit { server.stop() }

    func upload() async -> Result<UploadResponse, UploadError> {
        do {
            return .success(
                try await session.upload(content, to: server.url("/files"), options: options))
        } catch {
            return .failure(error)
        }
    }

    private var content: UploadContent {
        guard isStream else { return .data(body, contentType: "image/x-test") }
        let chunks = AsyncStream<[UInt8]> { [body] continuation in
            for start in stride(from: 0, to: body.count, by: 7_000) {
                continuation.yield(Array(body[start..<min(start + 7_000, body.count)]))
            }
            continuation.finish()
        }
        return .stream(chunks, length: nil, contentType: "image/x-test", replay: .fromCopy)
    }
}
