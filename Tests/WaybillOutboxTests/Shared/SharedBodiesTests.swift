import FoundationEssentials
import Glibc
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox

/// The files of items of a shared store.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct SharedBodiesTests {
    private static let data = [UInt8](repeating: 7, count: 40_000)

    private static var snapshot: EnqueueOptions {
        var options = EnqueueOptions()
        options.fileStorage = .snapshot
        return options
    }

    private static var pinned: EnqueueOptions {
        var options = EnqueueOptions()
        options.allowsPinning = true
        return options
    }

    /// Creates a shared directory.
    private static func directory(_ shared: SharedOutboxWorld) throws -> String {
        let path = shared.world.directory.path("mount")
        #expect(unsafe mkdir(path, 0o700) == 0)
        return path
    }

    @Test func `bytes and copies of small files are sent by another machine`() async throws {
        let shared = try SharedOutboxWorld(.respond(503))
        let (first, second) = (try await shared.open("one"), try await shared.open("two"))
        let path = try shared.world.directory.write("card", "what was meant")
        let form: MultipartForm = [.data("D", Self.data), .file("F", path: path)]
        let id = try await first.enqueue(form, to: shared.server.url("/u"), options: Self.snapshot).id
        shared.world.directory.remove("card")
        let details = try #require(try await second.details(of: id))
        #expect(details.item.host == nil && details.item.size == 40_014)
        #expect(details.files.map(\.isStaged) == [true, true])
        #expect(details.files.allSatisfy { $0.path.hasPrefix("inline/") })
        try await shared.deliver(second)
        #expect(try await first.states() == [.done])
        let requests = shared.server.requests
        #expect(requests.count == 2 && Set(requests.filter(\.isComplete).map(\.body)).count == 1)
        #expect(String(decoding: requests[1].body, as: UTF8.self).contains("what was meant"))
    }

    @Test func `a file upload is sent by another machine`() async throws {
        let shared = try SharedOutboxWorld()
        let (first, second) = (try await shared.open("one"), try await shared.open("two"))
        let path = try shared.world.directory.write("scan.pdf", Self.data)
        let upload = try await DurableFileUpload(path: path, to: shared.server.url("/scan"))
        try await first.enqueue(upload, options: Self.snapshot)
        try await shared.deliver(second)
        let request = try #require(shared.server.requests.first)
        #expect(request.body == Self.data && request.value(of: "Content-Type") == "application/pdf")
    }

    @Test func `an upload of another type reads its file at a path`() async throws {
        let shared = try SharedOutboxWorld()
        var configuration = OutboxWorld.quick
        configuration.kinds = [PathUpload.self]
        let (first, second) = (
            try await shared.open("one", configuration), try await shared.open("two", configuration)
        )
        let upload = PathUpload(url: shared.server.url("/p"), file: DurableFile(bytes: Self.data))
        try await first.enqueue(upload, options: EnqueueOptions())
        try await shared.deliver(second)
        #expect(shared.server.requests.map(\.body) == [Self.data])
        #expect(try await first.states() == [.done])
    }

    @Test func `a file that stays in place is refused, or pins its item`() async throws {
        let shared = try SharedOutboxWorld()
        let (first, second) = (try await shared.open("one"), try await shared.open("two"))
        let path = try shared.world.directory.write("card", "content")
        let upload = try await DurableFileUpload(path: path, to: shared.server.url("/c"))
        let error = await #expect(throws: OutboxError.self) { try await first.enqueue(upload) }
        #expect(error?.code == .filesNotShared && error?.message.contains("allowsPinning") == true)
        #expect(try await first.tally().total == 0)
        let id = try await first.enqueue(upload, options: Self.pinned).id
        try await shared.deliver(second)
        let item = try #require(try await second.item(id))
        #expect(item.state == .ready && item.host == "one")
        try await shared.deliver(first)
        #expect(try await second.states() == [.done])
        #expect(shared.server.requests.map(\.body) == [Array("content".utf8)])
    }

    @Test func `files above the inline limit are refused without a shared directory`() async throws {
        let shared = try SharedOutboxWorld()
        let outbox = try await shared.open { $0.inlineLimit = .bytes(39_999) }
        for options in [EnqueueOptions(), Self.pinned] {
            let error = await #expect(throws: OutboxError.self) {
                try await outbox.enqueue([.data("D", Self.data)], to: shared.server.url("/u"), options: options)
            }
            #expect(error?.code == .filesNotShared && error?.message.contains("40000 bytes") == true)
        }
        #expect(try await outbox.tally().total == 0)
    }

    @Test func `larger files are read in the shared directory, and removed after delivery`() async throws {
        let shared = try SharedOutboxWorld()
        let path = try Self.directory(shared)
        let change: (inout SharedOutboxStore) -> Void = { ($0.inlineLimit, $0.sharedDirectory) = (.bytes(10), path) }
        let (first, second) = (
            try await shared.open("one", change: change), try await shared.open("two", change: change)
        )
        let id = try await first.enqueue([.data("D", Self.data)], to: shared.server.url("/u")).id
        let spool = Spool(directory: path)
        #expect(try await second.details(of: id)?.files.map(\.path) == spool.fileNames().map { "shared/\($0)" })
        #expect(spool.fileNames().count == 1)
        try await shared.deliver(second)
        #expect(try await first.states() == [.done])
        #expect(shared.server.requests[0].body.count > Self.data.count)
        #expect(spool.fileNames().isEmpty)
    }

    @Test func `an item waits while a machine cannot read its files`() async throws {
        let shared = try SharedOutboxWorld()
        let path = try Self.directory(shared)
        let first = try await shared.open("one") { ($0.inlineLimit, $0.sharedDirectory) = (.bytes(10), path) }
        let second = try await shared.open("two")
        try await first.enqueue([.data("D", Self.data)], to: shared.server.url("/u"))
        let name = Spool(directory: path).fileNames()[0]
        try await shared.deliver(second)
        let failed = try #require(try await first.results().first)
        #expect(failed.item.reason == "filesUnavailable" && failed.item.attempts == 5)
        #expect(failed.message?.contains("sharedDirectory") == true && shared.server.requests.isEmpty)
        // A failed item keeps its files.
        #expect(Spool(directory: path).fileNames() == [name])
        try await first.retry(.all)
        try await shared.deliver(first)
        #expect(try await second.states() == [.done])
    }

    @Test func `the shared directory must exist and be private`() async throws {
        let shared = try SharedOutboxWorld()
        let path = shared.world.directory.path("mount")
        let open = { () async throws in try await shared.open { $0.sharedDirectory = path } }
        let missing = await #expect(throws: OutboxError.self) { try await open() }
        #expect(missing?.code == .directoryUnusable && missing?.message.contains("Mount") == true)
        #expect(unsafe mkdir(path, 0o700) == 0 && chmod(path, 0o755) == 0)
        let open755 = await #expect(throws: OutboxError.self) { try await open() }
        #expect(open755?.code == .directoryUnusable && open755?.message.contains("chmod") == true)
        #expect(unsafe chmod(path, 0o770) == 0)
        _ = try await open()
    }

    @Test func `only old unused files are removed from the shared directory`() async throws {
        let shared = try SharedOutboxWorld()
        let path = try Self.directory(shared)
        let outbox = try await shared.open { ($0.inlineLimit, $0.sharedDirectory) = (.bytes(10), path) }
        try await outbox.enqueue([.data("D", Self.data)], to: shared.server.url("/u"))
        let used = Spool(directory: path).fileNames()[0]
        for name in ["new", "old"] { try shared.world.directory.write("mount/\(name)", "unused") }
        let twoDaysAgo = timespec(tv_sec: time(nil) - 2 * 86_400, tv_nsec: 0)
        for name in ["old", used] {
            #expect(unsafe utimensat(AT_FDCWD, "\(path)/\(name)", [twoDaysAgo, twoDaysAgo], 0) == 0)
        }
        let core = try #require(outbox.owner)
        #expect(try await core.sweep() == 1)
        #expect(Set(Spool(directory: path).fileNames()) == ["new", used])
    }

    @Test func `many small files are stored in several commits`() async throws {
        let shared = try SharedOutboxWorld()
        let megabyte = [UInt8](repeating: 1, count: 1_048_576)
        let upload = PathUpload(url: shared.server.url("/p"), file: DurableFile(bytes: megabyte))
        var configuration = OutboxWorld.quick
        configuration.kinds = [PathUpload.self]
        let outbox = try await shared.open("one", configuration)
        let before = shared.store.changes.value
        let receipts = try await outbox.enqueue(contentsOf: Array(repeating: upload, count: 9))
        #expect(receipts.count == 9 && receipts.allSatisfy(\.isNew))
        #expect(shared.store.changes.value == before + 2)
        #expect(try await outbox.tally()[.ready] == 9)
    }
}

/// An upload that knows only the path of its file.
private struct PathUpload: DurableUpload {
    static let kind = "path"
    var url: String
    var file: DurableFile

    var lane: DurableLane { DurableLane(host: "h:80") }
    var files: [DurableFile] {
        get { [file] }
        set { file = newValue[0] }
    }

    func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        let data = (try? Data(contentsOf: URL(filePath: file.path))) ?? Data()
        return try await delivery.session.upload(.data(Array(data)), to: url, method: .post, options: delivery.options)
    }
}
