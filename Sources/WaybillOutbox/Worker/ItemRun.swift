import Logging
import Waybill
import WaybillCore

/// One lease of one item: delivers it or verifies its outcome.
struct ItemRun: Sendable {
    let worker: Worker
    let item: LeasedItem

    private var core: OutboxCore { worker.core }
    private var jitter: Double { worker.configuration.jitter() }

    func run() async -> ItemChange {
        switch item.effect {
        case .deliver(let attempt, let lease): await deliver(attempt, lease)
        case .verify(let lease): await verify(lease)
        default: ItemChange(item.id, .ended(.aborted, lease: item.life.leaseNumber))
        }
    }

    private func deliver(_ attempt: Int, _ lease: Int64) async -> ItemChange {
        let enqueued: any DurableUpload
        do {
            enqueued = try worker.registry.decode(item.kind, item.spec)
        } catch {
            var response = StoredResponse()
            response.message = error.message
            return ItemChange(item.id, .ended(.refused(error.code.description), lease: lease), response: response)
        }
        let opened: OpenedUpload
        do {
            opened = try await open(enqueued, lease)
        } catch {
            return filesUnavailable(error, attempt, lease)
        }
        defer { withExtendedLifetime(opened) {} }
        let upload = opened.upload
        do throws(UploadError) {
            guard try await isStillRepeatable(upload, attempt, lease) else {
                return ItemChange(item.id, .ended(.unknown("idempotencyWindowClosed"), lease: lease))
            }
            let response = try await upload.deliver(delivery(attempt, lease))
            var stored = StoredResponse(response)
            stored.sourceChangedAfterwards = await hasChanged(upload.files)
            worker.budget.withLock { $0.earn(item.lane) }
            return ItemChange(
                item.id, .ended(.delivered, lease: lease), lane: .responded, response: stored,
                sent: response.attempts.isEmpty ? nil : response.attempts.reduce(0) { $0 + $1.sent })
        } catch {
            return await failed(error, enqueued, attempt, lease)
        }
    }

    private func open(_ upload: any DurableUpload, _ lease: Int64) async throws(OutboxError) -> OpenedUpload {
        try await core.bodies.open(upload) { (name) async throws(OutboxError) in
            try await core.store.body(name, of: HeldLease(item: item.id, number: lease), token: core.token)
        }
    }

    /// The files may be readable later, or on another machine.
    private func filesUnavailable(_ error: OutboxError, _ attempt: Int, _ lease: Int64) -> ItemChange {
        core.logger?.error(
            "the files of an item cannot be read", metadata: ["item": "\(item.id)", "error": "\(error)"])
        var response = StoredResponse()
        response.message = error.message
        let wait = max(Self.shortestWait, worker.configuration.retry.wait(attempt: attempt, jitter: jitter))
        let ending = ItemLife.Ending.transient(Self.unavailable, delay: wait)
        return ItemChange(item.id, .ended(ending, lease: lease), response: response)
    }

    /// Whether an item with an unknown outcome may still be sent again. Hours may have passed since its verification,
    /// because the lane was blocked or no worker ran.
    private func isStillRepeatable(
        _ upload: any DurableUpload, _ attempt: Int, _ lease: Int64
    ) async throws(UploadError) -> Bool {
        guard item.life.isDoubtful, item.life.onUnknown != .retry else { return true }
        switch try await upload.verify(delivery(attempt, lease)) {
        case .repeatable, .absent: return true
        case .delivered, .resume, .undetermined: return false
        }
    }

    private func failed(
        _ error: UploadError, _ upload: any DurableUpload, _ attempt: Int, _ lease: Int64
    ) async -> ItemChange {
        core.logger?.info(
            "a delivery failed", metadata: ["item": "\(item.id)", "attempt": "\(attempt)", "error": "\(error)"])
        var failure = FailureClass(
            error, attempt: attempt, policy: worker.configuration.retry, jitter: jitter)
        if failure.isRetry, failure.lane == nil, !worker.budget.withLock({ $0.spend(item.lane) }) {
            failure.lane = .suspend(Self.suspensionWithoutBudget)
        }
        var change = ItemChange(
            item.id, .ended(failure.ending, lease: lease), lane: failure.lane, response: StoredResponse(error),
            sent: error.sent)
        if case .sourceChanged = failure.ending, item.life.onChange == .restart {
            change.spec = await renewed(upload)
        }
        return change
    }

    private func verify(_ lease: Int64) async -> ItemChange {
        let enqueued: any DurableUpload
        do {
            enqueued = try worker.registry.decode(item.kind, item.spec)
        } catch {
            return ItemChange(item.id, .verdict(.cannotTell("unknownKind"), lease: lease))
        }
        let opened: OpenedUpload
        do {
            opened = try await open(enqueued, lease)
        } catch {
            return ItemChange(item.id, .verdict(.later(Self.unavailable, delay: verificationWait), lease: lease))
        }
        defer { withExtendedLifetime(opened) {} }
        do throws(UploadError) {
            let verdict = try await opened.upload.verify(delivery(max(1, item.life.attempts), lease))
            switch verdict {
            case .delivered(let response):
                return ItemChange(
                    item.id, .verdict(.delivered, lease: lease), lane: .responded,
                    response: response.map { StoredResponse($0) })
            case .absent: return ItemChange(item.id, .verdict(.absent, lease: lease))
            case .repeatable: return ItemChange(item.id, .verdict(.repeatable, lease: lease))
            case .resume(let state): return ItemChange(item.id, .verdict(.absent, lease: lease), resume: state)
            case .undetermined: return ItemChange(item.id, .verdict(.cannotTell("cannotTell"), lease: lease))
            }
        } catch {
            let failure = FailureClass(
                error, attempt: item.life.failedVerifications + 1, policy: worker.configuration.retry, jitter: jitter)
            // A blocked lane is not contacted until it is unblocked, not even for verification.
            let verdict: ItemLife.Verdict =
                if case .refused(let reason) = failure.ending { .cannotTell(reason) } else {
                    .later(error.code.description, delay: verificationWait)
                }
            return ItemChange(item.id, .verdict(verdict, lease: lease), lane: failure.lane)
        }
    }

    private var verificationWait: Int64 {
        max(Self.shortestWait, worker.configuration.retry.wait(attempt: 3, jitter: jitter))
    }

    private func delivery(_ attempt: Int, _ lease: Int64) -> Delivery {
        let (core, id) = (core, item.id)
        let store: @Sendable ([UInt8], Bool) async -> Bool = { state, isProgress in
            let event: ItemLife.Event =
                isProgress && !state.isEmpty ? .progressed(lease: lease) : .setBack(attempt: attempt, lease: lease)
            let applied = try? await core.store.apply([ItemChange(id, event, resume: state)])
            return applied?.first?.isAccepted == true
        }
        var delivery = Delivery(
            session: worker.session, credentials: worker.configuration.credentials,
            idempotencyKey: item.idempotencyKey, attempt: attempt,
            sinceFirstAttempt: .milliseconds(item.sinceFirstAttempt),
            resume: item.resume,
            onProgress: { progress in
                core.running.withLock { running in
                    guard var entry = running[id] else { return }
                    entry.item.acknowledged = progress.acknowledged
                    entry.item.total = progress.total ?? entry.item.total
                    entry.item.bytesPerSecond = progress.bytesPerSecond
                    running[id] = entry
                }
            },
            saveResume: { _ = await store($0, true) })
        delivery.storeResume = store
        // Without doubt, the state of a step that may have acted is left only by the caller's retry.
        delivery.acceptsDuplicates = !item.life.isDoubtful || item.life.onUnknown == .retry
        return delivery
    }

    private func hasChanged(_ files: [DurableFile]) async -> Bool {
        for file in files {
            do { try await file.check() } catch { return true }
        }
        return false
    }

    /// Returns the upload with the current state of its files.
    private func renewed(_ upload: any DurableUpload) async -> String? {
        var upload = upload
        var files = upload.files
        for index in files.indices where !files[index].isStaged {
            do { try await files[index].inspect() } catch { return nil }
        }
        upload.files = files
        return try? worker.registry.encode(upload)
    }

    private static let shortestWait: Int64 = 100
    private static let unavailable = "filesUnavailable"
    private static let suspensionWithoutBudget: Int64 = 60_000
}
