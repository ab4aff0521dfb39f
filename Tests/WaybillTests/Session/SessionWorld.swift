import TestSupport
import WaybillCore
import WaybillTesting

@testable import Waybill

/// A session over a scripted transport and a manual clock.
struct SessionWorld {
    let session: UploadSession
    let transport: ScriptedTransport
    let clock = ManualClock()

    static let url = "http://backend.example/upload"

    init(_ scripts: [TransferScript], slots: Int = 8, slotsPerHost: Int = 5, retry: RetryPolicy = .standard) {
        self.init(ScriptedTransport(scripts), slots: slots, slotsPerHost: slotsPerHost, retry: retry)
    }

    init(
        _ transport: ScriptedTransport, slots: Int = 8, slotsPerHost: Int = 5, retry: RetryPolicy = .standard,
        budget: RetryBudget? = .standard
    ) {
        self.transport = transport
        var configuration = UploadSession.Configuration()
        configuration.maximumConcurrentTransfers = slots
        configuration.maximumConcurrentTransfersPerHost = slotsPerHost
        configuration.clock = clock
        configuration.jitter = { 1 }
        configuration.options.retry = retry
        configuration.retryBudget = budget
        session = UploadSession(configuration: configuration, transport: transport)
    }

    func start(_ bytes: Int = 100, to url: String = SessionWorld.url) -> UploadTask {
        session.start(.data([UInt8](repeating: 7, count: bytes)), to: url, method: .post)
    }
}

extension UploadTask {
    /// The result of the upload.
    func end() async -> Result<UploadResponse, UploadError> {
        do throws(UploadError) {
            return .success(try await response)
        } catch {
            return .failure(error)
        }
    }

    /// The error of the upload, or `nil` after a success.
    func error() async -> UploadError? {
        guard case .failure(let error) = await end() else { return nil }
        return error
    }

    /// Waits for a phase that the upload is guaranteed to stay in, or to have passed when it has ended.
    func reaches(_ phase: UploadPhase) async {
        for await progress in progress where progress.phase == phase { return }
    }
}

/// A part that is prepared when the test permits it, and records its cancellation.
struct GatedPart: PartPreparing {
    let arrived = Watched(0)
    let canContinue = Watched(false)
    let wasCancelled = Watched(false)

    func prepare() async throws -> PreparedPart {
        arrived.update { $0 += 1 }
        do {
            try await canContinue.waitUntil { $0 }
        } catch {
            wasCancelled.update { $0 = true }
            throw error
        }
        return PreparedPart(content: .bytes([1, 2, 3]))
    }
}

/// A body that can be read only once, or fails after some bytes.
struct FaultyBody: UploadBody {
    struct Broken: Error {}

    var length: Int64? = 10
    var isReplayable = true
    var breaksAfter: Int?
    var contentType: String?
    var parts: [BodyPart] = []
    let closed = Watched(0)

    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader {
        Reader(self)
    }

    private final class Reader: BodyReader {
        private let body: FaultyBody
        private var given = 0

        init(_ body: FaultyBody) {
            self.body = body
        }

        func read(into output: inout OutputRawSpan) throws -> BodyRead {
            if let limit = body.breaksAfter, given >= limit { throw Broken() }
            guard given < 10 else { return .end }
            output.append(UInt8(given))
            given += 1
            return .bytes(1)
        }

        func close() { body.closed.update { $0 += 1 } }
    }
}
