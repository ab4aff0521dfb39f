import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// An object that goes in parts: resumed from its record where there is one, begun anew once where the store has forgotten it.
struct QiniuPartsUpload: Sendable {
    /// What Qiniu allows of parts.
    static let limits = PartLimits(smallest: .mebibytes(1), largest: .gibibytes(1), most: 10_000)
    /// An upload that ends so soon is not gone on with.
    static let margin: Int64 = 7_200

    let put: QiniuPut
    let payload: QiniuPayload
    let channel: QiniuChannel

    func perform() async throws(StoreError) -> QiniuObject {
        let configuration = put.client.configuration
        let plan = try PartPlan(objectSize: payload.size, wished: configuration.partSize, limits: Self.limits)
        let book = try await QiniuRecordBook(
            folder: configuration.records, keeper: put.keeper, payload: payload, token: channel.token, key: put.key,
            partSize: plan.partSize, now: configuration.now())
        defer { book.close() }
        var restarts = 0
        while true {
            do throws(StoreError) {
                return try await attempt(plan, book)
            } catch {
                // What the store has forgotten is begun anew, once: twice would be somebody's mistake.
                guard error.code == .uploadGone, error.outcome == .rejected, restarts == 0, !Task.isCancelled else {
                    await leave(book, after: error)
                    throw error
                }
                restarts += 1
                await book.forget()
            }
        }
    }

    /// Aborts the upload that the record is of, and removes the record.
    ///
    /// - Returns: Whether there was one.
    func discard() async throws(StoreError) -> Bool {
        let configuration = put.client.configuration
        let plan = try PartPlan(objectSize: payload.size, wished: configuration.partSize, limits: Self.limits)
        let book = try await QiniuRecordBook(
            folder: configuration.records, keeper: put.keeper, payload: payload, token: channel.token, key: put.key,
            partSize: plan.partSize, now: configuration.now())
        defer { book.close() }
        guard let record = await book.resumable(hosts: { channel.choose($0) }) else { return false }
        channel.pin()
        do throws(StoreError) {
            _ = try await channel.send(.abort) { call in
                QiniuParts.request(
                    .delete, call, "/\(record.uploadID)", bucket: call.token.scope.bucket, key: put.key)
            }
        } catch  where error.code == .uploadGone {
            // What is to go is gone.
        }
        await book.forget()
        return true
    }

    private func attempt(_ plan: PartPlan, _ book: QiniuRecordBook) async throws(StoreError) -> QiniuObject {
        var listed: [PartReceipt] = []
        let parts: QiniuParts
        if let record = await book.resumable(hosts: { channel.choose($0) }) {
            channel.pin()
            parts = QiniuParts(
                put: put, payload: payload, channel: channel, plan: plan, book: book, id: record.uploadID)
            listed = try await parts.listParts(put.run)
        } else {
            let begun = try await QiniuParts.begin(put, channel)
            channel.pin()
            try await book.begin(id: begun.id, expires: begun.expires, host: begun.host)
            parts = QiniuParts(put: put, payload: payload, channel: channel, plan: plan, book: book, id: begun.id)
        }
        put.run.enter(.sending)
        // Sizes are the store's word: those that don't fit count for nothing, and can't overflow.
        let resumed = listed.filter { plan.numbers.contains($0.number) && $0.size == plan.size(of: $0.number) }
            .reduce(0) { $0 + $1.size }
        let receipts = try await PartPump(store: parts, run: put.run).send(
            plan, listed: listed, atOnce: put.client.configuration.partsAtOnce)
        put.run.enter(.completing)
        let ownHash = try await parts.wholeHash(receipts)
        var object = try await parts.complete(receipts, ownHash: ownHash)
        object.resumedBytes = resumed
        await book.finish()
        return object
    }

    /// Without a record nobody could go on from what the store has, so it is told to throw that away. With one it stays.
    private func leave(_ book: QiniuRecordBook, after error: StoreError) async {
        if error.isStored { return await book.finish() }
        if error.code == .checksumMismatch { return await book.forget() }
        guard !book.isKept, error.outcome != .unknown, let id = book.id else { return }
        var request = QiniuParts.request(
            .delete, QiniuChannel.Call(base: channel.base(of: channel.host), token: channel.token),
            "/\(id)", bucket: channel.token.scope.bucket, key: put.key)
        request.options = QiniuClient.options(put.client.configuration, .abort)
        // Not of this task, which may have been cancelled.
        put.client.session.start(request)
    }
}
