import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// The multipart upload of an object. It is resumed from a record if there is one, and restarted once if the store no
/// longer knows it.
struct QiniuPartsUpload: Sendable {
    /// The part limits of Qiniu.
    static let limits = PartLimits(minimumSize: .mebibytes(1), maximumSize: .gibibytes(1), maximumCount: 10_000)
    /// The minimum remaining lifetime, in seconds, of an upload that is resumed.
    static let minimumRemainingLifetime: Int64 = 7_200

    let put: QiniuPut
    let payload: QiniuPayload
    let channel: QiniuChannel

    func perform() async throws(StoreError) -> QiniuObject {
        let (plan, resumeStore) = try await open()
        defer { resumeStore.close() }
        var restarts = 0
        while true {
            do throws(StoreError) {
                return try await attempt(plan, resumeStore)
            } catch {
                // Restart once if the store no longer knows the upload, or has assembled other bytes; a second time would
                // indicate a defect.
                let isGone = error.code == .uploadGone && error.outcome == .rejected
                let isDamaged = error.code == .checksumMismatch && error.part == nil && put.canReplace(channel.token)
                guard isGone || isDamaged, restarts == 0, !Task.isCancelled else {
                    await cleanUp(resumeStore, after: error)
                    throw error
                }
                restarts += 1
                put.run.forget()
                await resumeStore.forget()
            }
        }
    }

    /// Aborts the recorded upload and removes the record.
    ///
    /// - Returns: Whether there was a record.
    func discard() async throws(StoreError) -> Bool {
        let (_, resumeStore) = try await open()
        defer { resumeStore.close() }
        guard let record = await resumeStore.resumable(hosts: { channel.choose($0) }) else { return false }
        channel.pin()
        do throws(StoreError) {
            _ = try await channel.send(.abort) { call in
                QiniuParts.request(
                    .delete, call, "/\(record.uploadID)", bucket: call.token.scope.bucket, key: put.key)
            }
        } catch  where error.code == .uploadGone {
            // The upload is already gone.
        }
        await resumeStore.forget()
        return true
    }

    /// Divides the object into parts and opens the record of its upload.
    private func open() async throws(StoreError) -> (PartPlan, QiniuResumeStore) {
        let configuration = put.client.configuration
        let plan = try PartPlan(
            objectSize: payload.size, preferredPartSize: configuration.partSize, limits: Self.limits)
        let resumeStore = try await QiniuResumeStore(
            folder: configuration.records, recordStore: put.recordStore, payload: payload, token: channel.token,
            key: put.key, partSize: plan.partSize, now: put.client.clock.date)
        return (plan, resumeStore)
    }

    private func attempt(_ plan: PartPlan, _ resumeStore: QiniuResumeStore) async throws(StoreError) -> QiniuObject {
        var listed: [PartReceipt] = []
        let parts: QiniuParts
        if let record = await resumeStore.resumable(hosts: { channel.choose($0) }) {
            channel.pin()
            parts = QiniuParts(
                put: put, payload: payload, channel: channel, plan: plan, resumeStore: resumeStore, id: record.uploadID)
            listed = try await parts.listParts(put.run)
        } else {
            let initiated = try await QiniuParts.begin(put, channel)
            channel.pin()
            try await resumeStore.begin(id: initiated.id, expires: initiated.expires, host: initiated.host)
            parts = QiniuParts(
                put: put, payload: payload, channel: channel, plan: plan, resumeStore: resumeStore, id: initiated.id)
        }
        put.run.enter(.sending)
        // The sizes come from the store: ignore those that do not match, so that the sum can't overflow.
        let resumed = listed.filter { plan.numbers.contains($0.number) && $0.size == plan.size(of: $0.number) }
            .reduce(0) { $0 + $1.size }
        let receipts = try await MultipartSender(store: parts, run: put.run).send(
            plan, listed: listed, maximumConcurrentParts: put.client.configuration.maximumConcurrentParts)
        put.run.enter(.completing)
        let ownHash = try await parts.wholeHash(receipts)
        var object = try await parts.complete(receipts, ownHash: ownHash)
        object.resumedBytes = resumed
        await resumeStore.finish()
        return object
    }

    /// Cleans up after a failure: without a record, the upload can't be resumed and is aborted; with one, it is kept.
    private func cleanUp(_ resumeStore: QiniuResumeStore, after error: StoreError) async {
        if error.isStored { return await resumeStore.finish() }
        if error.code == .checksumMismatch { return await resumeStore.forget() }
        guard !resumeStore.isKept, error.outcome != .unknown, let id = resumeStore.id else { return }
        var request = QiniuParts.request(
            .delete, QiniuChannel.Call(base: channel.base(of: channel.host), token: channel.token),
            "/\(id)", bucket: channel.token.scope.bucket, key: put.key)
        request.options = QiniuClient.options(put.client.configuration, .abort)
        // Start the request outside this task, which may have been cancelled.
        put.client.session.start(request)
    }
}
