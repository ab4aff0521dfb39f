import FoundationEssentials
import TestSupport
import Waybill
import WaybillCore

@testable import WaybillStores

/// A store, clients of it, and a directory for files and records.
struct QiniuFixture {
    static let keys = QiniuKeys(accessKey: "ak", secretKey: .secret("sk"))

    let store: QiniuStore
    let folder = Result { try TemporaryDirectory() }
    let hosts: Int

    init(_ settings: QiniuStoreSettings = QiniuStoreSettings(), hosts: Int = 1) throws {
        store = try QiniuStore(settings, hosts: hosts)
        self.hosts = hosts
    }

    /// A client that retries immediately, with parts of 1 MiB and forms up to 256 KiB.
    func client(
        tokens: QiniuTokens = .keys(keys, bucket: "photos"),
        session: UploadSession = UploadSession(),
        _ change: (inout QiniuClient.Configuration) -> Void = { _ in }
    ) -> QiniuClient {
        var configuration = QiniuClient.Configuration()
        configuration.hosts = .fixed((0..<hosts).map { store.url($0) })
        configuration.formThreshold = .kibibytes(256)
        configuration.partSize = .mebibytes(1)
        configuration.retryInterval = .milliseconds(1)
        configuration.clock = ImmediateClock()
        configuration.records = nil
        change(&configuration)
        return QiniuClient(tokens: tokens, configuration: configuration, session: session)
    }

    /// Records in the directory.
    func records(_ conflictPolicy: RecordDirectory.ConflictPolicy = .fail) throws -> RecordDirectory {
        RecordDirectory(path: try folder.get().path("records"), conflictPolicy: conflictPolicy)
    }

    /// A file of bytes derived from a seed.
    func file(_ size: Int, _ name: String = "file.bin", seed: UInt64 = 7) throws -> (path: String, bytes: [UInt8]) {
        let bytes = Self.bytes(size, seed: seed)
        return (try folder.get().write(name, bytes), bytes)
    }

    /// Bytes that differ from block to block, generated fast in a debug build.
    static func bytes(_ size: Int, seed: UInt64 = 7) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        let piece = random.bytes(4_099)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + piece.count)
        while bytes.count < size {
            let count = bytes.count
            bytes += piece
            bytes[count] = UInt8(truncatingIfNeeded: count >> 12)
            bytes[count + 1] = UInt8(truncatingIfNeeded: count >> 20)
        }
        return Array(bytes.prefix(size))
    }

    /// Returns the error of an upload that must fail.
    static func failure(
        _ work: () async throws(StoreError) -> QiniuObject
    ) async -> StoreError? {
        do throws(StoreError) {
            _ = try await work()
            return nil
        } catch {
            return error
        }
    }
}

/// A clock on which every sleep ends immediately.
struct ImmediateClock: Clock {
    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        await Task.yield()
    }
}
