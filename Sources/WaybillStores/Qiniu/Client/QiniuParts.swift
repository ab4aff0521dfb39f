import Crypto
import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// An initiated multipart upload in version 2 of Qiniu's protocol.
struct QiniuParts: MultipartProtocol {
    let put: QiniuPut
    let payload: QiniuPayload
    let channel: QiniuChannel
    let plan: PartPlan
    let resumeStore: QiniuResumeStore
    let id: String

    private var bucket: String { channel.token.scope.bucket }

    // MARK: Requests

    /// Returns a request for a multipart upload. `~` stands for a key that the store chooses, an empty name for the
    /// empty key.
    static func request(
        _ method: HTTPRequest.Method, _ call: QiniuChannel.Call, _ path: String, bucket: String, key: String?,
        content: UploadContent = .empty
    ) -> UploadRequest {
        let name = key.map { URLSafeBase64.encode(Array($0.utf8)) } ?? "~"
        var request = UploadRequest(
            method, "\(call.base)/buckets/\(bucket)/objects/\(name)/uploads\(path)", content: content)
        request.hidesPath = !path.isEmpty
        request.headers[.authorization] = "UpToken \(call.token.text.value)"
        return request
    }

    /// Initiates an upload.
    static func begin(
        _ put: QiniuPut, _ channel: QiniuChannel
    ) async throws(StoreError) -> (id: String, expires: Int64?, host: String) {
        let (response, host) = try await channel.send(.begin) { call in
            request(.post, call, "", bucket: call.token.scope.bucket, key: put.key)
        }
        guard let initiated = try? JSONDecoder().decode(InitiateResponse.self, from: Data(response.body)),
            isID(initiated.uploadId)
        else {
            throw Self.unreadable(response, host, "has no upload ID")
        }
        return (initiated.uploadId, initiated.expireAt, host)
    }

    // The ID becomes part of URL paths.
    private static func isID(_ text: String) -> Bool {
        (1...512).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                    UInt8(ascii: "="), UInt8(ascii: "~"):
                    true
                default: false
                }
            }
    }

    func send(part number: Int, _ run: ObjectRun) async -> PartResult {
        do throws(StoreError) {
            return .stored(try await sendPart(number))
        } catch {
            switch error.outcome {
            case .unknown where error.code != .checksumMismatch: return .uncertain(error)
            default: return error.code == .checksumMismatch ? .corrupted(error) : .failed(error)
            }
        }
    }

    private func sendPart(_ number: Int) async throws(StoreError) -> PartReceipt {
        let range = plan.range(of: number)
        let sums = try await PartChecksums(payload, range)
        let bucket = bucket
        let (response, host) = try await channel.send(.part, size: plan.size(of: number), isRepeatable: false) {
            call throws(StoreError) in
            let body = try payload.body(range, contentType: "application/octet-stream")
            var request = Self.request(
                .put, call, "/\(id)/\(number)", bucket: bucket, key: put.key, content: .body(body))
            request.headers[HTTPField.Name("Content-MD5")!] = sums.md5
            return request
        }
        guard let accepted = try? JSONDecoder().decode(PartResponse.self, from: Data(response.body)) else {
            throw Self.unreadable(response, host, "has no ETag of the part")
        }
        if let md5 = accepted.md5, md5.lowercased() != sums.md5 {
            throw StoreError(
                .checksumMismatch,
                "Checksum mismatch: the store received other bytes of part \(number). The part is sent again.")
        }
        return PartReceipt(
            number: number, size: plan.size(of: number), tag: accepted.etag, checksum: URLSafeBase64.encode(sums.blocks)
        )
    }

    func listParts(_ run: ObjectRun) async throws(StoreError) -> [PartReceipt] {
        var result: [PartReceipt] = []
        let known = resumeStore.parts
        var marker = 0
        // The list is finite: each page has at least one part, and there are at most 10,000.
        for _ in 0..<QiniuPartsUpload.limits.maximumCount {
            let bucket = bucket
            let path = "/\(id)?max-parts=1000" + (marker > 0 ? "&part-number-marker=\(marker)" : "")
            let (response, host) = try await channel.send(.list) { call in
                Self.request(.get, call, path, bucket: bucket, key: put.key)
            }
            guard let page = try? JSONDecoder().decode(Page.self, from: Data(response.body)) else {
                throw Self.unreadable(response, host, "is not a list of parts")
            }
            for part in page.parts {
                let own = known[part.partNumber]
                // A different ETag means that another client has sent the part. Send ours again.
                if let own, own.tag != part.etag { continue }
                result.append(
                    PartReceipt(number: part.partNumber, size: part.size, tag: part.etag, checksum: own?.checksum))
            }
            guard let next = page.partNumberMarker, next > marker, !page.parts.isEmpty else { break }
            marker = next
        }
        return result
    }

    func didStore(_ receipt: PartReceipt) async throws(StoreError) {
        try await resumeStore.didStore(receipt)
    }

    // MARK: The end

    /// Returns the expected hash of the object, or `nil` if it can't be verified: it only depends on the bytes if each
    /// part is one block. Parts of an earlier run whose hashes were not recorded are read again.
    func wholeHash(_ receipts: [PartReceipt]) async throws(StoreError) -> String? {
        guard put.client.configuration.checksHash, channel.token.hasStandardResponse,
            plan.partSize == QiniuEtag.blockSize
        else { return nil }
        var blocks: [UInt8] = []
        for receipt in receipts {
            let count = Int((receipt.size + QiniuEtag.blockSize - 1) / QiniuEtag.blockSize)
            if let own = receipt.checksum.flatMap(URLSafeBase64.decode), own.count == 20 * count {
                blocks += own
            } else {
                blocks += try await PartChecksums(payload, plan.range(of: receipt.number)).blocks
            }
        }
        return QiniuEtag.value(ofBlockHashes: blocks)
    }

    /// Completes the upload: the store assembles the object.
    func complete(_ receipts: [PartReceipt], ownHash: String?) async throws(StoreError) -> QiniuObject {
        try await channel.renewForCompletion()
        let json = try completion(receipts)
        do throws(StoreError) {
            return try await complete(json, ownHash, isRepeated: false)
        } catch {
            guard error.outcome == .unknown, error.code != .unexpectedResponse, !Task.isCancelled else { throw error }
            // The list of parts shows whether the request was applied: the store then no longer knows the upload.
            do throws(StoreError) {
                _ = try await listParts(put.run)
            } catch let lookupError {
                guard lookupError.code == .uploadGone else { throw error }
                var gone = error
                gone.message =
                    "The store has probably created the object, because it no longer knows the parts; its response "
                    + "was lost. Check whether the object exists."
                throw gone
            }
            return try await complete(json, ownHash, isRepeated: true)
        }
    }

    private func complete(
        _ json: String, _ ownHash: String?, isRepeated: Bool
    ) async throws(StoreError) -> QiniuObject {
        let bucket = bucket
        var requests = 0
        let response: UploadResponse
        let host: String
        do throws(StoreError) {
            (response, host) = try await channel.send(.complete, isRepeatable: false) { call in
                requests += 1
                return Self.request(
                    .post, call, "/\(id)", bucket: bucket, key: put.key,
                    content: .data(json.utf8, contentType: "application/json"))
            }
        } catch  where error.code == .uploadGone {
            // After a single request, the upload was never completed. After several, an earlier one may have completed
            // it.
            let attempts = (error.cause as? UploadError)?.attempts.count ?? 1
            guard isRepeated || requests > 1 || attempts > 1 else { throw error }
            var gone = error
            gone.outcome = .unknown
            gone.message =
                "The store has probably created the object, because it no longer knows the parts; an earlier "
                + "response was an error. Check whether the object exists."
            throw gone
        }
        return try put.object(of: response, host, ownHash: ownHash, token: channel.token)
    }

    private func completion(_ receipts: [PartReceipt]) throws(StoreError) -> String {
        var object = JSONObject()
        let parts = receipts.map { receipt in
            "{\"etag\":\(JSONText.quoted(receipt.tag)),\"partNumber\":\(receipt.number)}"
        }
        object.add("parts", json: "[\(parts.joined(separator: ","))]")
        object.add("fname", payload.fileName)
        object.add("mimeType", payload.contentType ?? ContentTypeTable.standard.type(forFile: payload.fileName))
        for (name, values) in [
            ("metadata", try QiniuPutOptions.named(put.options.metadata, "x-qn-meta-")),
            ("customVars", try QiniuPutOptions.named(put.options.variables, "x:")),
        ] where !values.isEmpty {
            var members = JSONObject()
            for (name, value) in values { members.add(name, value) }
            object.add(name, json: members.text)
        }
        return object.text
    }

    private static func unreadable(_ response: UploadResponse, _ host: String, _ what: String) -> StoreError {
        var error = StoreError(
            .unexpectedResponse, "The request succeeded, but the response \(what).", outcome: .unknown)
        error.status = response.status.code
        error.requestID = response.headers[QiniuResponseParser.requestID]
        error.host = host
        return error
    }

    private struct InitiateResponse: Decodable {
        var uploadId: String
        var expireAt: Int64?
    }

    private struct PartResponse: Decodable {
        var etag: String
        var md5: String?
    }

    private struct Page: Decodable {
        struct Part: Decodable {
            var size: Int64
            var etag: String
            var partNumber: Int
        }
        var partNumberMarker: Int?
        var parts: [Part]
    }
}

/// The checksums of a part, computed before it is sent.
struct PartChecksums: Sendable {
    /// The MD5 in Qiniu's format: lower-case hexadecimal.
    let md5: String
    /// The concatenated SHA-1 hashes of the part's blocks of 4 MiB.
    let blocks: [UInt8]

    init(_ payload: QiniuPayload, _ range: Range<Int64>) async throws(StoreError) {
        var digest = Insecure.MD5()
        var etag = QiniuEtag()
        try await payload.read(range) { bytes in
            digest.update(data: bytes)
            etag.update(bytes)
        }
        let digits = Array("0123456789abcdef".utf8)
        let hex = digest.finalize().flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        md5 = String(decoding: hex, as: UTF8.self)
        blocks = etag.blockHashes
    }
}
