import FoundationEssentials
import HTTPTypes
public import Waybill
import WaybillCore
import WaybillMultipart

extension DurableQiniuUpload {
    /// Uploads the object. Parts that the store has from an earlier attempt are not sent again.
    ///
    /// The file is checked for changes before the first byte and before the last byte of each request. Hosts are tried
    /// in order, as by a client. A token that the store rejects is replaced once, if the account can create another.
    public func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        let examined = try await delivery.source(source)
        do throws(StoreError) {
            let client = try await client(delivery)
            let upload = self
            let recordStore = DeliveryRecordStore(delivery)
            return try await delivery.run(isEncrypted: sending.isEncrypted) { run throws(StoreError) in
                let payload = upload.payload(examined)
                let put = QiniuPut(
                    client: client, source: .data([]), key: upload.key, options: upload.options, run: run,
                    recordStore: recordStore, bucket: upload.bucket)
                return try await Self.response(put.perform(payload))
            }
        } catch {
            if error.isStored, let response = (error.cause as? UploadError)?.response { return response }
            throw UploadError(error, attempt: delivery.attempt)
        }
    }

    /// Queries the store for the parts. An upload token allows no more than that: querying an object requires the keys
    /// of the account, and a different service.
    ///
    /// - ``/Waybill/DeliveryVerdict/resume(_:)`` while the store lists the parts: the list ends with the completion, so
    ///   the object was not created.
    /// - ``/Waybill/DeliveryVerdict/repeatable`` if no parts are listed, or the upload was a form, and repeating it is
    ///   harmless: to Qiniu, the same bytes under the same key are the same object, whether the token allows
    ///   overwriting or not.
    /// - ``/Waybill/DeliveryVerdict/undetermined`` if repeating it can do harm: a callback or processing would be
    ///   triggered twice, a key that the store chooses can differ each time, and an upload that must be the first of
    ///   its key (`insertOnly`) can conflict with itself.
    public func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict {
        let record = delivery.record(endpoint: "qiniu", bucket: bucket, key: key)
        do throws(StoreError) {
            let client = try await client(delivery)
            let upload = self
            return try await delivery.run(isEncrypted: sending.isEncrypted) { run throws(StoreError) in
                let channel = try await QiniuChannel(
                    client: client, run: run, key: upload.key, size: upload.source.count ?? 0, options: upload.options)
                try channel.check(bucket: upload.bucket)
                if let record, let resume = delivery.resume, try await upload.isOpen(record, channel) {
                    return .resume(resume)
                }
                return upload.isRepeatable(channel.token) ? .repeatable : .undetermined
            }
        } catch {
            throw UploadError(error, attempt: delivery.attempt)
        }
    }

    private func client(_ delivery: Delivery) async throws(StoreError) -> QiniuClient {
        let account = try await delivery.credentials.qiniuAccount(credential, bucket: bucket)
        let tokens = try tokens(of: account)
        let configuration = sending.configuration(delivery, isInParts: isInParts)
        let make = { QiniuClient(tokens: account, configuration: configuration, session: delivery.session) }
        let key = QiniuAccountKey(
            account: credential, sending: sending, isInParts: isInParts, session: ObjectIdentifier(delivery.session))
        let shared = (delivery.credentials as? StoreAccounts)?.sharedClient(for: key, make) ?? make()
        return QiniuClient(tokens: tokens, sharing: shared)
    }

    /// Returns the tokens of the account, or tokens for the upload's own policy, signed with the keys of the account.
    private func tokens(of account: QiniuTokens) throws(StoreError) -> QiniuTokens {
        guard policy != nil else { return account }
        guard let keys = account.keys else {
            throw StoreError(
                .invalidPutPolicy,
                "The upload has its own put policy, but the account \(StoreError.shown(credential)) provides tokens "
                    + "created elsewhere. Use an account with keys, or put the policy into those tokens.")
        }
        let upload = self
        return .keys(keys) { _, now in
            upload.policy(at: now) ?? QiniuPutPolicy(scope: .bucket(upload.bucket), deadline: now)
        }
    }

    private func payload(_ examined: SourceFile?) -> QiniuPayload {
        guard let examined else {
            return QiniuPayload(source.pending ?? [], fileName: fileName, contentType: contentType)
        }
        return QiniuPayload(examined, fileName: fileName, contentType: contentType)
    }

    /// Whether the store still knows the multipart upload. `false` if its host is no longer allowed.
    private func isOpen(_ record: ResumeRecord, _ channel: QiniuChannel) async throws(StoreError) -> Bool {
        guard let host = record.notes["host"], channel.choose(host) else { return false }
        channel.pin()
        do throws(StoreError) {
            _ = try await channel.send(.list) { call in
                QiniuParts.request(
                    .get, call, "/\(record.uploadID)?max-parts=1", bucket: bucket, key: key)
            }
            return true
        } catch  where error.code == .uploadGone {
            return false
        }
    }

    private func isRepeatable(_ token: QiniuUploadToken) -> Bool {
        key != nil && !token.hasSideEffects && !token.forcesKey && !token.isInsertOnly
    }

    /// Reconstructs a response from an object.
    private static func response(_ object: QiniuObject) -> UploadResponse {
        var headers: HTTPFields = [.contentType: "application/json"]
        headers[QiniuResponseParser.requestID] = object.requestID
        return UploadResponse(status: .ok, headers: headers, body: object.body)
    }
}
