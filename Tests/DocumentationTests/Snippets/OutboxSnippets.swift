// The samples of the guide to the outbox, compiled.
import Waybill
import WaybillOutbox
import WaybillPostgres

private func first(_ form: MultipartForm) async throws {
    // snippet: outbox, first
    let outbox = try await Outbox(at: "/var/lib/kiosk/outbox")
    let receipt = try await outbox.enqueue(form, to: "https://backend.example/upload")
    print("queued as #\(receipt.id)")
    try await outbox.run()  // delivers, until the task is cancelled
    // end
}

private func handingOver(_ outbox: Outbox, _ form: MultipartForm, _ paths: [String], _ url: String) async throws {
    // snippet: outbox, keys
    try await outbox.enqueue(form, to: url, idempotency: .honoured(window: .seconds(86_400)))
    // end

    // snippet: outbox, file
    let upload = try await DurableFileUpload(path: "scan.pdf", to: "https://store.example/scans/1.pdf")
    try await outbox.enqueue(upload)
    // end

    // snippet: outbox, many
    var uploads: [DurableForm] = []
    for path in paths {
        uploads.append(try await DurableForm([.image("FILE", path: path, .maxBytes(.kibibytes(100)))], to: url))
    }
    let receipts = try await outbox.enqueue(contentsOf: uploads)
    // end
    print(receipts)
}

private func withTicket(_ outbox: Outbox) async throws {
    // snippet: outbox, ticket
    let backend = DurableCredential.bearer(named: "backend")
    let upload = try await DurableTicketedUpload(
        file: "front.jpg",
        ask: DurableRequest(.post, "https://backend.example/tickets", body: #"{"type": "jpg"}"#, credential: backend),
        format: TicketFormat(url: "/data/uploadUrl"),
        confirm: DurableRequest(
            .post, "https://backend.example/photos/{ticket:/data/id}", body: #"{"etag": "{header:etag}"}"#,
            credential: backend, idempotency: .honoured(window: .seconds(86_400))))
    try await outbox.enqueue(upload)
    // end
}

private func choosing(_ outbox: Outbox, _ form: MultipartForm, _ url: String) async throws {
    // snippet: outbox, options
    var options = EnqueueOptions()
    options.priority = .high
    options.batch = "2026-01-17"  // observed and controlled together
    options.tags = ["counter 7"]  // for selection
    options.delay = .seconds(3_600)  // before the first attempt; none by default
    options.deadline = .seconds(12 * 3_600)  // then, for the last attempt to begin; 7 days by default
    options.maxAttempts = 20  // 10 by default
    options.onUnknown = .ask
    try await outbox.enqueue(form, to: url, options: options)
    // end

    // snippet: outbox, doubles
    options.deduplicationKey = "B-0001 front"
    options.duplicates = .replace
    let receipt = try await outbox.enqueue(form, to: url, options: options)
    print(receipt.isNew ? "added" : "is there already")
    // end
}

private func naming(_ outbox: Outbox, _ url: String) async throws {
    // snippet: outbox, named credentials
    let form: MultipartForm = [.credential("TOKEN", named: "backend"), .text("BUSINESSNO", "20260117-0042")]
    try await outbox.enqueue(form, to: url)
    try await outbox.enqueue(form, to: url, credential: .bearer(named: "backend"))  // Authorization: Bearer …
    // end
}

private func knowing(_ vault: any Vault, _ path: String) async throws {
    // snippet: outbox, known credentials
    var configuration = Outbox.Configuration()
    configuration.credentials = CredentialTable { name in
        guard name == "backend" else { return nil }
        return .secret(try await vault.token())
    }
    let outbox = try await Outbox(at: path, configuration: configuration)
    // end
    await outbox.close()
}

private func delivering(_ outbox: Outbox, _ session: UploadSession) async throws {
    // snippet: outbox, run
    let worker = Task { try await outbox.run(session: session) }
    outbox.drain(atMost: .seconds(20))  // starts nothing new; running uploads may finish
    try await worker.value
    await outbox.close()
    // end
}

private func unblocking(_ outbox: Outbox) async throws {
    // snippet: outbox, lanes
    for (lane, reason) in try await outbox.blockedLanes() {
        print(lane, reason)  // backend.example:443 as backend status401
        try await outbox.unblock(lane: lane)
    }
    // end

    // snippet: outbox, rate
    try await outbox.setRate(LaneRate(100, per: .seconds(60)), lane: "backend.example:443")
    for lane in try await outbox.lanes() { print(lane.name, lane.rate?.count ?? 0, lane.blocked ?? "open") }
    // end

    // snippet: outbox, limit
    try await outbox.setMaximumConcurrentDeliveries(4, lane: "backend.example:443")
    // end
}

private func learning(_ outbox: Outbox) async throws {
    // snippet: outbox, results
    while true {
        let missed = try await outbox.results()
        guard let last = missed.last else { break }
        for result in missed { try await book(result) }
        try await outbox.acknowledge(through: last.sequence)
    }
    // end
}

private func hearing(_ configuration: inout Outbox.Configuration) {
    // snippet: outbox, hook
    configuration.onResult = { result in
        guard result.isDelivered else { return await alarm("#\(result.item.id): \(result.message ?? "no reason")") }
        try await book(result)
    }
    // end
}

private func watching(_ outbox: Outbox) async throws {
    // snippet: outbox, progress
    for try await progress in outbox.progress(batch: "2026-01-17") {
        print(progress.tally[.done], "of", progress.tally.total, progress.bytesPerSecond, progress.timeLeft ?? .zero)
        for item in progress.running { print("  #\(item.id)", item.acknowledged, "of", item.total ?? 0) }
    }
    // end

    // snippet: outbox, items
    for try await item in outbox.items(ItemSelection(batch: "2026-01-17", states: [.failed])) {
        print(item.id, item.reason ?? "", item.isDoubtful ? "may have arrived" : "did not arrive")
    }
    // end
}

private func steering(_ outbox: Outbox, _ receipt: OutboxReceipt) async throws {
    // snippet: outbox, steering
    try await outbox.pause(ItemSelection(batch: "2026-01-17"))
    try await outbox.resume(ItemSelection(batch: "2026-01-17"))
    try await outbox.cancel(ItemSelection(tag: "counter 7"))
    try await outbox.verify(.failed)
    try await outbox.retry(ItemSelection(ids: [receipt.id]))
    // end

    // snippet: outbox, attempts
    for attempt in try await outbox.details(of: receipt.id)?.attempts ?? [] {
        print(attempt.number, attempt.result, attempt.status ?? 0, attempt.endedAt - attempt.startedAt, "ms")
    }
    // end
}

// snippet: outbox, own kind
struct Telegram: DurableUpload {
    static let kind = "telegram"
    var text: String
    var lane: DurableLane { DurableLane(host: "desk.example:443") }

    func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        try await delivery.session.upload(
            .data(Array(text.utf8)), to: "https://desk.example/telegrams", method: .post, options: delivery.options)
    }
}
// end

private func registering(_ configuration: inout Outbox.Configuration) {
    // snippet: outbox, kinds
    configuration.kinds = [Telegram.self]
    // end
}

#if Shared
    private func sharing(_ configuration: inout Outbox.Configuration) async throws {
        // snippet: outbox, shared store
        var store = try SharedOutboxStore.postgres("postgresql://waybill@db.example/uploads")
        store.sharedDirectory = "/mnt/uploads/waybill"
        configuration.store = store
        let outbox = try await Outbox(configuration: configuration)
        // end
        _ = outbox
    }
#endif

private protocol Vault: Sendable {
    func token() async throws -> String
}

@Sendable private func book(_ result: OutboxResult) async throws {}
@Sendable private func alarm(_ text: String) async {}
