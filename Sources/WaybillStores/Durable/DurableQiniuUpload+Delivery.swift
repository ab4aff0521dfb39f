import FoundationEssentials
import HTTPTypes
public import Waybill
import WaybillCore
import WaybillMultipart

extension DurableQiniuUpload {
    /// Sends it: what the store lists of an earlier attempt not again.
    ///
    /// The file is looked at before the first byte and before the last of each request. Hosts are tried one after the other,
    /// as by a client; a token that the store refuses is replaced once, where the account can make another.
    public func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        let looked = try await delivery.source(source)
        do throws(StoreError) {
            let client = try await client(delivery)
            let upload = self
            let keeper = DeliveryRecord(delivery)
            return try await delivery.run(isEncrypted: sending.isEncrypted) { run throws(StoreError) in
                let payload = upload.payload(looked)
                let put = QiniuPut(
                    client: client, source: .data([]), key: upload.key, options: upload.options, run: run,
                    keeper: keeper, bucket: upload.bucket)
                return try await Self.answer(put.perform(payload))
            }
        } catch {
            if error.isStored, let response = (error.cause as? UploadError)?.response { return response }
            throw UploadError(error, attempt: delivery.attempt)
        }
    }

    /// Asks the store whether it still has the parts. More an upload token does not allow: whether an object is there, only the
    /// keys of the account may ask, and by another service.
    ///
    /// - ``/Waybill/DeliveryVerdict/resume(_:)`` while the store lists the parts: the object was not made, for that ends the list.
    /// - ``/Waybill/DeliveryVerdict/repeatable`` where nothing is listed, or it went as a form, and a second one does no harm: under the
    ///   same key the same bytes are the same object to Qiniu, whether the token may overwrite or not.
    /// - ``/Waybill/DeliveryVerdict/cannotTell`` where it may do harm: a callback or work on the object would be set going twice, a
    ///   key that the store makes may be another one each time, and an upload that must be the first of its key
    ///   (`insertOnly`) may meet itself.
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
                return upload.isRepeatable(channel.token) ? .repeatable : .cannotTell
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
        let place = QiniuHome(
            account: credential, sending: sending, isInParts: isInParts, session: ObjectIdentifier(delivery.session))
        let home = (delivery.credentials as? StoreAccounts)?.home(place, make) ?? make()
        return QiniuClient(tokens: tokens, sharing: home)
    }

    /// The account's tokens, or with its keys those of the upload's own policy.
    private func tokens(of account: QiniuTokens) throws(StoreError) -> QiniuTokens {
        guard policy != nil else { return account }
        guard let keys = account.keys else {
            throw StoreError(
                .invalidPutPolicy,
                "the upload has a policy of its own, and the account \(StoreError.shown(credential)) gives tokens that were "
                    + "made elsewhere: name an account with keys, or have the policy made there")
        }
        let upload = self
        return .keys(keys) { _, now in
            upload.policy(at: now) ?? QiniuPutPolicy(scope: .bucket(upload.bucket), deadline: now)
        }
    }

    private func payload(_ looked: SourceFile?) -> QiniuPayload {
        guard let looked else {
            return QiniuPayload(source.pending ?? [], fileName: fileName, contentType: contentType)
        }
        return QiniuPayload(looked, fileName: fileName, contentType: contentType)
    }

    /// Whether the store still knows the upload in parts. A host that is no longer among those that may be asked is not.
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

    /// What the store has answered, as far as an object tells it.
    private static func answer(_ object: QiniuObject) -> UploadResponse {
        var headers: HTTPFields = [.contentType: "application/json"]
        headers[QiniuReply.requestID] = object.requestID
        return UploadResponse(status: .ok, headers: headers, body: object.body)
    }
}
