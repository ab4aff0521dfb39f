import BenchDriver
import Glibc
import Waybill
import WaybillOutbox

/// A step that this program runs as the measured process: `run-outbox STEP DIRECTORY COUNT [URL]`.
struct OutboxStep {
    enum Step: String {
        /// Enqueues uploads whose delivery is a no-op, and prints the seconds.
        case enqueue
        /// Enqueues forms of three fields for the URL, and prints the seconds.
        case enqueueForms = "enqueue-forms"
        /// Delivers all items, one at a time, and prints the seconds.
        case singly
        /// Delivers all items, many at a time, and prints the seconds.
        case grouped
        /// Opens the outbox and exits.
        case idle
        /// Exits after the first upload; the run time of the process is measured.
        case first
        /// Lists all items and prints their number.
        case list
        /// Delivers all items with the default configuration, and prints the number of delivered ones.
        case deliver
    }

    /// The first argument of this mode.
    static let name = "run-outbox"

    private let step: Step
    private let directory: String
    private let count: Int
    private let url: String

    init(_ arguments: ArraySlice<String>) throws {
        let words = Array(arguments)
        guard words.count >= 3, let step = Step(rawValue: words[0]), let count = Int(words[2]) else {
            throw BenchError("The arguments are invalid. Usage: run-outbox STEP DIRECTORY COUNT [URL]")
        }
        self.step = step
        directory = words[1]
        self.count = count
        url = words.count > 3 ? words[3] : ""
    }

    func run() async throws {
        var configuration = Outbox.Configuration()
        configuration.kinds = [FreeUpload.self, LastUpload.self]
        if let concurrency = [Step.singly: 1, .grouped: 512][step] {
            configuration.maximumConcurrentDeliveries = concurrency
            configuration.maximumConcurrentDeliveriesPerLane = concurrency
        }
        let outbox = try await Outbox(at: directory, configuration: configuration)
        switch step {
        case .idle: break
        case .enqueue:
            let uploads = (0..<count).lazy.map { FreeUpload(number: $0) }
            print(try await seconds { _ = try await outbox.enqueue(contentsOf: uploads) })
        case .enqueueForms:
            // Created once and reused, so that only the outbox is measured.
            let form = try await DurableForm(
                MultipartForm(DriverForm.fields.map { .text($0.name, $0.value) }), to: url,
                idempotency: .honoured(window: .seconds(3_600)))
            let uploads = (0..<count).lazy.map { _ in form }
            print(try await seconds { _ = try await outbox.enqueue(contentsOf: uploads) })
        case .singly, .grouped: print(try await seconds { try await outbox.runUntilIdle() })
        case .first:
            var options = EnqueueOptions()
            options.priority = .veryHigh
            try await outbox.enqueue(LastUpload(url: url), options: options)
            try await outbox.runUntilIdle()
            throw BenchError("No upload was sent.")
        case .list:
            var seen = 0
            for try await item in outbox.items() where item.state == .ready { seen += 1 }
            print(seen)
        case .deliver:
            try await outbox.runUntilIdle()
            print(try await outbox.tally()[.done])
        }
        await outbox.close()
    }

    private func seconds(_ work: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        try await work()
        return start.duration(to: .now).seconds
    }
}

/// An upload whose delivery is a no-op, so that only the outbox is measured.
struct FreeUpload: DurableUpload {
    static let kind = "free"
    var number: Int
    var lane: DurableLane { DurableLane(name: "nowhere") }

    func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse { UploadResponse(status: .ok) }
}

/// An upload that ends the program.
struct LastUpload: DurableUpload {
    static let kind = "last"
    var url: String
    var lane: DurableLane { DurableLane(name: "sink") }

    func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        let response = try await delivery.session.upload(.data(Array("first".utf8)), to: url, method: .post)
        guard response.text == "5" else { exit(1) }
        exit(0)
    }
}
