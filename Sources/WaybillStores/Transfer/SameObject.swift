import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

extension ObjectRequests {
    /// Returns the response for the stored object if it has the size and checksum of a file. Costs one request; the file
    /// is read only if the sizes agree and the store reports a comparable checksum.
    ///
    /// - Returns: `nil` if the object does not exist, differs or is not comparable.
    func sameObject(as source: SourceFile, _ run: ObjectRun) async throws(StoreError) -> UploadResponse? {
        var call = StoreCall(.head, bucket: bucket, key: key)
        call.headers = comparisonFields
        call.isIdempotent = true
        let response: UploadResponse
        do throws(StoreError) {
            response = try await caller.make(call, run).response
        } catch  where [400, 403, 404].contains(error.status) {
            // Amazon S3 responds with 403 for a missing object if the credentials do not permit listing the bucket, and
            // with 400 if the object is encrypted with a key of the client, or is not.
            return nil
        } catch {
            throw error.beforeSending
        }
        let size = source.stamp.size
        guard response.headers[.contentLength].flatMap({ Int64($0) }) == size,
            let (kind, theirs) = storedChecksum(in: response)
        else { return nil }
        let ours = try await FileBody.checksum(of: 0..<size, in: source, kind)
        return ours.text == theirs ? response : nil
    }
}

extension StoreError {
    /// The error of a query that precedes an upload: nothing of the object was sent, whatever the outcome of the query.
    fileprivate var beforeSending: StoreError {
        var error = self
        error.outcome = .notSent
        return error
    }
}

extension OSSObjectRequests {
    func storedChecksum(in response: UploadResponse) -> (RunningChecksum, String)? {
        response.headers[.ossChecksum].map { (.crc64, $0) }
    }
}

extension S3ObjectRequests {
    var comparisonFields: HTTPFields {
        let hasChecksums = !client.configuration.profile.checksums.subtracting([.md5]).isEmpty
        return headFields().adding(hasChecksums ? [.s3ChecksumMode: "ENABLED"] : [:])
    }

    func storedChecksum(in response: UploadResponse) -> (RunningChecksum, String)? {
        let fields = response.headers
        if client.configuration.profile.hasMD5ETags, let hash = Self.hash(in: response), !hash.contains("-") {
            return (.md5, hash)
        }
        // The checksum of an object in parts may be that of the checksums of its parts, with their number at its end.
        guard fields[.s3ChecksumType] != "COMPOSITE" else { return nil }
        for checksum in S3Checksum.allCases where checksum != .md5 {
            if let text = fields[checksum.field], !text.contains("-") { return (checksum.running, text) }
        }
        return nil
    }
}

extension QiniuPut {
    /// The size and hash of a stored object.
    private struct Status: Decodable {
        var fsize: Int64
        var hash: String
    }

    /// Returns the stored object if it has the size and hash of a payload. Costs one request to Qiniu's resource
    /// service; the payload is read only if the sizes agree.
    ///
    /// - Returns: `nil` if the object does not exist or differs.
    func sameObject(as payload: QiniuPayload, _ channel: QiniuChannel) async throws(StoreError) -> QiniuObject? {
        guard let key, let keys = client.tokens.keys else {
            throw StoreError(
                .invalidArgument,
                "A comparison with the stored object needs its key and the keys of the account. A token permits only "
                    + "uploads.")
        }
        let host = client.configuration.resourceHost
        let entry = "\(channel.token.scope.bucket):\(key)"
        let result = await stat("/stat/\(URLSafeBase64.encode(Array(entry.utf8)))", keys, channel.base(of: host))
        let facts = QiniuResponseParser.facts(of: result)
        if facts.status == 612, facts.hasRequestID { return nil }
        guard case .success(let response) = result, facts.hasRequestID,
            let status = try? JSONDecoder().decode(Status.self, from: Data(response.body))
        else { throw QiniuResponseParser.error(of: result, .regions, host: host).beforeSending }
        guard status.fsize == payload.size else { return nil }
        var etag = QiniuEtag()
        try await payload.read(0..<payload.size) { etag.update($0) }
        guard etag.value == status.hash else { return nil }
        var object = QiniuObject(
            key: key, hash: status.hash, body: response.body,
            requestID: response.headers[QiniuResponseParser.requestID], host: host)
        object.url = publicURL(of: key)
        (object.isHashChecked, object.wasSkipped) = (true, true)
        return object
    }

    /// Sends a management request.
    private func stat(_ path: String, _ keys: QiniuKeys, _ base: String) async -> Result<UploadResponse, UploadError> {
        let name = base.firstRange(of: "://").map { base[$0.upperBound...] } ?? base[...]
        let token = keys.managementToken("GET", path, host: String(name))
        var options = QiniuClient.options(client.configuration, .regions)
        options.secretFields = [.authorization]
        let request = UploadRequest(
            .get, base + path, headers: [.authorization: "Qiniu \(token.value)"], options: options)
        return await Result { () async throws(UploadError) in try await run.send(request, in: client.session) }
    }
}
