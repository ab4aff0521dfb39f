import HTTPTypes
import Waybill

extension AliyunOSSClient {
    /// Asks about an object.
    ///
    /// - Throws: ``StoreError``; its status is 404 when there is none.
    public func head(_ key: String, in bucket: String? = nil) async throws(StoreError) -> OSSObjectInfo {
        try await ObjectUpload { run throws(StoreError) in
            let call = OSSCall(.head, bucket: try self.bucket(bucket), key: key)
            return OSSObjectInfo(try await self.make(call, run).response)
        }.value
    }

    /// Deletes an object. One that is not there is no error to OSS.
    ///
    /// - Throws: ``StoreError``.
    public func delete(_ key: String, in bucket: String? = nil) async throws(StoreError) {
        try await ObjectUpload { run throws(StoreError) in
            var call = OSSCall(.delete, bucket: try self.bucket(bucket), key: key)
            call.isIdempotent = true
            _ = try await self.make(call, run)
        }.value
    }
}
