import BenchDriver
import Glibc
import Waybill
import WaybillOutbox

/// What this program does with an outbox when it is started as the measured process: `run-outbox STEP FOLDER COUNT [URL]`.
struct OutboxErrand {
    enum Step: String {
        /// Hands so many uploads over that cost nothing to deliver, and prints the seconds that took.
        case enqueue
        /// The same with forms of three fields that go to the URL.
        case enqueueForms = "enqueue-forms"
        /// Delivers all, one at a time, and prints the seconds.
        case singly
        /// The same, many at a time.
        case grouped
        /// Opens the outbox, and ends.
        case idle
        /// Ends when the first upload has arrived; the time is that of the process.
        case first
        /// Lists all and prints how many there are.
        case list
        /// Delivers all with the usual settings, and prints how many are done.
        case deliver
    }

    /// The word that it is started by.
    static let name = "run-outbox"

    private let step: Step
    private let folder: String
    private let count: Int
    private let url: String

    init(_ arguments: ArraySlice<String>) throws {
        let words = Array(arguments)
        guard words.count >= 3, let step = Step(rawValue: words[0]), let count = Int(words[2]) else {
            throw BenchError("run-outbox STEP FOLDER COUNT [URL]")
        }
        self.step = step
        folder = words[1]
        self.count = count
        url = words.count > 3 ? words[3] : ""
    }

    func run() async throws {
        var configuration = Outbox.Configuration()
        configuration.kinds = [FreeUpload.self, LastUpload.self]
        if step == .singly { (configuration.slots, configuration.slotsPerLane) = (1, 1) }
        if step == .grouped { (configuration.slots, configuration.slotsPerLane) = (512, 512) }
        let outbox = try await Outbox(at: folder, configuration: configuration)
        switch step {
        case .idle: break
        case .enqueue:
            let uploads = (0..<count).lazy.map { FreeUpload(number: $0) }
            print(try await seconds { _ = try await outbox.enqueue(contentsOf: uploads) })
        case .enqueueForms:
            // Made before, and the same value again and again: what is measured is the outbox.
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
            throw BenchError("Nothing was sent.")
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

/// An upload that goes nowhere, so that what is left is the outbox.
struct FreeUpload: DurableUpload {
    static let kind = "free"
    var number: Int
    var lane: DurableLane { DurableLane(name: "nowhere") }

    func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse { UploadResponse(status: .ok) }
}

/// An upload with which the program ends.
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
