import Waybill
import WaybillCore
import WaybillMultipart

extension Delivery {
    /// Runs the requests of an object, and tells of all of them as of one upload.
    func run<Value: Sendable>(
        isEncrypted: Bool, _ work: @escaping @Sendable (ObjectRun) async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let upload = ObjectUpload(work)
        let telling = Task { [onProgress, attempt] in
            for await progress in upload.progress {
                onProgress(UploadProgress(progress, attempt: attempt, isEncrypted: isEncrypted))
            }
        }
        let result = await Result { () async throws(StoreError) in try await upload.value }
        // Nobody is told of anything after the delivery has returned.
        await telling.value
        return try result.get()
    }

    /// Looks at a file and makes sure that it is still what was handed over. What was found is what is sent, and it is looked
    /// at once more before the last byte.
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
    /// Refuses what can't be written down, with the name of what to do instead.
    static func refused(_ message: String) -> StoreError {
        StoreError(StoreError.Code(UploadError.Code.notDurable.description), message)
    }

    /// A file by a path that means the same in another program, looked at.
    static func looked(at path: String) async throws(StoreError) -> DurableFile {
        var file = DurableFile(path: try AbsolutePath.of(path))
        do throws(UploadError) {
            try await file.inspect()
        } catch {
            throw StoreError(error)
        }
        return file
    }
}
