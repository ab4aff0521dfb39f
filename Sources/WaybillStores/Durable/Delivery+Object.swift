import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

extension Delivery {
    /// Returns the clock of an endpoint, which the deliveries of the same accounts share.
    func clock(of endpoint: String, _ now: @escaping @Sendable () -> Date) -> StoreClock {
        let make = { StoreClock(now: now) }
        return (credentials as? StoreAccounts)?.clock(of: endpoint, make) ?? make()
    }

    /// Runs the requests of an object and reports their progress as that of a single upload.
    func run<Value: Sendable>(
        isEncrypted: Bool, _ work: @escaping @Sendable (ObjectRun) async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let upload = ObjectUpload(work)
        let reporting = Task { [onProgress, attempt] in
            for await progress in upload.progress {
                onProgress(UploadProgress(progress, attempt: attempt, isEncrypted: isEncrypted))
            }
        }
        let result = await Result { () async throws(StoreError) in try await upload.value }
        // Wait for the reporter: no progress may be reported after the delivery has returned.
        await reporting.value
        return try result.get()
    }

    /// Examines a file and throws if it has changed since it was enqueued. The upload sends the examined file and
    /// checks it again before the last byte.
    func source(_ file: DurableFile) async throws(UploadError) -> SourceFile? {
        guard file.pending == nil else { return nil }
        try await file.check()
        let source: SourceFile
        do throws(StoreError) {
            source = try await SourceFile.look(at: file.path)
        } catch {
            throw UploadError(error, attempt: attempt)
        }
        try await file.check()
        return source
    }
}

extension UploadProgress {
    fileprivate init(_ progress: ObjectProgress, attempt: Int, isEncrypted: Bool) {
        let phase: UploadPhase =
            switch progress.phase {
            case .starting: .preparing
            case .sending: .sending
            case .completing: .awaitingResponse
            case .succeeded: .succeeded
            case .failed: .failed
            case .cancelled: .cancelled
            }
        self.init(
            phase: phase, attempt: attempt, sent: progress.acknowledged, acknowledged: progress.acknowledged,
            total: progress.total, accuracy: isEncrypted ? .estimated : .exact,
            bytesPerSecond: progress.bytesPerSecond, isPaused: progress.isPaused)
    }
}

extension DurableFile {
    /// Creates the error for an upload that can't be persisted, with a message that names the remedy.
    static func refused(_ message: String) -> StoreError {
        StoreError(StoreError.Code(UploadError.Code.notDurable.description), message)
    }

    /// Throws for a header field with a secret.
    static func checkSecrets(in headers: HTTPFields) throws(StoreError) {
        for field in headers where secretFields.contains(field.name.canonicalName) {
            throw refused(
                "The header field \(field.name) contains a secret, and secrets are not saved. Use a named account "
                    + "instead.")
        }
    }

    private static let secretFields: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "x-oss-security-token", "x-amz-security-token",
        "x-oss-server-side-encryption-customer-key", "x-amz-server-side-encryption-customer-key",
    ]

    /// Returns the file of an object that a recipe has prepared.
    static func of(_ object: PreparedObject) async throws(StoreError) -> DurableFile {
        switch object.source {
        case .bytes(let bytes): DurableFile(bytes: bytes)
        case .file(let path): try await examined(at: path)
        }
    }

    /// Returns an examined file with a path that is independent of the working directory.
    static func examined(at path: String) async throws(StoreError) -> DurableFile {
        var file = DurableFile(path: try AbsolutePath.of(path))
        do throws(UploadError) {
            try await file.inspect()
        } catch {
            throw StoreError(error)
        }
        return file
    }
}
