import Glibc
import TestSupport
import Testing
import WaybillMultipart

@testable import WaybillStores

@Suite(.timeLimit(.minutes(Slowness.factor))) struct `Resume records` {
    private let directory: TemporaryDirectory
    private let folder: RecordDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        folder = RecordDirectory(path: directory.path("state/uploads"))
        path = try directory.write("film", [UInt8](repeating: 7, count: 3_000))
    }

    private func subject(_ key: String = "k", partSize: Int64 = 1_000) async throws -> ResumeSubject {
        ResumeSubject(
            endpoint: "https://h", bucket: "b", key: key, source: try await SourceFile.look(at: path), path: path,
            partSize: partSize)
    }

    private func record(_ subject: ResumeSubject) -> ResumeRecord {
        var record = ResumeRecord(subject: subject, uploadID: "id/7")
        record.parts = [PartReceipt(number: 2, size: 1_000, tag: "\"A\"", checksum: "18446744073709551615")]
        record.notes = ["host": "up.example"]
        return record
    }

    @Test func `a record is readable by another claim, and only by its owner`() async throws {
        let subject = try await subject()
        do {
            let claim = try await folder.claim(subject)
            #expect(try await claim.load(subject, at: 0) == .none)
            try await claim.save(record(subject))
            claim.close()
        }
        let claim = try await folder.claim(subject)
        #expect(try await claim.load(subject, at: 0) == .usable(record(subject)))
        #expect(try mode(claim.filePath) == 0o600)
        #expect(try mode(folder.path) == 0o700)
        await claim.remove()
        #expect(try await claim.load(subject, at: 0) == .none)
    }

    @Test func `removing a record leaves the directory empty`() async throws {
        let subject = try await subject()
        do {
            let claim = try await folder.claim(subject)
            try await claim.save(record(subject))
            try await claim.save(record(subject))
            await claim.remove()
            claim.close()
        }
        let left = try directory.names(in: "state/uploads")
        #expect(left.isEmpty, "\(left)")
    }

    @Test func `a file changed with its old modification time is another file`() async throws {
        let subject = try await subject()
        let claim = try await folder.claim(subject)
        try await claim.save(record(subject))
        var status = stat()
        #expect(unsafe stat(path, &status) == 0)
        try directory.overwrite("film", at: 100, [9, 9, 9])
        let times = [status.st_atim, status.st_mtim]
        #expect(unsafe utimensat(AT_FDCWD, path, times, 0) == 0)
        let now = try await self.subject()
        #expect(now.modifiedNanoseconds == subject.modifiedNanoseconds && now.size == subject.size)
        guard case .unusable = try await claim.load(now, at: 0) else {
            Issue.record("the record is taken for the changed file's")
            return
        }
    }

    @Test func `a second claim on the same record fails`() async throws {
        let subject = try await subject()
        let first = try await folder.claim(subject)
        let error = try await #require(throws: StoreError.self) { _ = try await folder.claim(subject) }
        #expect(error.code == .recordInUse)
        // Another object from the same file is another upload.
        _ = try await folder.claim(self.subject("other"))
        first.close()
        _ = try await folder.claim(subject)
    }

    @Test func `a waiting claim gets the record when the first one closes`() async throws {
        let subject = try await subject()
        var waiting = folder
        waiting.conflictPolicy = .wait
        let folder = waiting
        let first = try await folder.claim(subject)
        try await first.save(record(subject))
        let second = Task { try await folder.claim(subject).load(subject, at: 0) }
        first.close()
        #expect(try await second.value == .usable(record(subject)))
    }

    @Test func `a waiting claim can be cancelled`() async throws {
        let subject = try await subject()
        var waiting = folder
        waiting.conflictPolicy = .wait
        let folder = waiting
        let first = try await folder.claim(subject)
        let second = Task { try await folder.claim(subject) }
        second.cancel()
        let error = try await #require(throws: StoreError.self) { _ = try await second.value }
        #expect(error.isCancelled)
        _ = first
    }

    @Test func `a torn or corrupted record is not used`() async throws {
        let subject = try await subject()
        let bytes = try record(subject).encoded()
        for cut in 0..<bytes.count {
            guard case .unusable(_, nil) = ResumeRecord.read(Array(bytes[..<cut]), for: subject, at: 0) else {
                Issue.record("cut at \(cut)")
                return
            }
        }
        for place in bytes.indices {
            var torn = bytes
            torn[place] ^= 1
            if case .usable(let found) = ResumeRecord.read(torn, for: subject, at: 0) {
                Issue.record("byte \(place) changed, and it reads \(found)")
            }
        }
    }

    @Test func `a record of another version, file, part size or time is not used, with a reason`() async throws {
        let subject = try await subject()
        let record = record(subject)
        func reason(_ wanted: ResumeSubject, at now: Int64 = 0, _ change: (inout ResumeRecord) -> Void = { _ in })
            throws -> String
        {
            var record = record
            change(&record)
            guard case .unusable(let reason, _) = ResumeRecord.read(try record.encoded(), for: wanted, at: now) else {
                return "usable"
            }
            return reason
        }
        #expect(try reason(subject) == "usable")
        #expect(try reason(await self.subject(partSize: 2_000)).contains("1000 bytes in the record"))
        #expect(try reason(await self.subject("other")).contains("another object"))
        #expect(try reason(subject, at: 8) { $0.expires = 8 }.contains("expired"))
        #expect(try reason(subject) { $0.subject.size = 4 } == "the size of the file changed from 4 to 3000 bytes")
        #expect(try reason(subject) { $0.subject.inode += 1 }.contains("another file"))
        #expect(try reason(subject) { $0.subject.modifiedNanoseconds += 1 }.contains("modified"))
        let text = String(decoding: try record.encoded(), as: UTF8.self)
        let newer = text.replacing(#""version":1"#, with: #""version":2"#)
        #expect(ResumeRecord.read(Array(newer.utf8), for: subject, at: 0) == .unusable("the record has version 2", nil))
    }

    @Test func `a modified file invalidates its record`() async throws {
        let before = try await subject()
        let claim = try await folder.claim(before)
        try await claim.save(record(before))
        try directory.write("film", [UInt8](repeating: 8, count: 3_001))
        let now = try await subject()
        guard case .unusable(let reason, let old?) = try await claim.load(now, at: 0) else {
            Issue.record("it was taken for the same")
            return
        }
        #expect(reason.contains("3000"))
        #expect(old.uploadID == "id/7")
    }

    @Test(arguments: [0o640, 0o604, 0o660] as [mode_t])
    func `a record readable by others is refused`(_ mode: mode_t) async throws {
        let subject = try await subject()
        let claim = try await folder.claim(subject)
        try await claim.save(record(subject))
        try #require(unsafe chmod(claim.filePath, mode) == 0)
        let error = try await #require(throws: StoreError.self) { _ = try await claim.load(subject, at: 0) }
        #expect(error.code == .recordRefused)
    }

    @Test func `a link, a directory, a hard link and a record of another owner are refused`() async throws {
        let subject = try await subject()
        let claim = try await folder.claim(subject)
        try await claim.save(record(subject))
        let real = directory.path("elsewhere.json")
        func refused() async throws -> Bool {
            let error = try await #require(throws: StoreError.self) { _ = try await claim.load(subject, at: 0) }
            return error.code == .recordRefused
        }
        try #require(unsafe link(claim.filePath, real) == 0)
        #expect(try await refused())
        try #require(unsafe unlink(claim.filePath) == 0)
        try #require(unsafe symlink(real, claim.filePath) == 0)
        #expect(try await refused())
        try #require(unsafe unlink(claim.filePath) == 0)
        try #require(unsafe mkdir(claim.filePath, 0o700) == 0)
        #expect(try await refused())
        try #require(unsafe rmdir(claim.filePath) == 0)
        // Only root can change the owner of a file.
        guard geteuid() == 0 else { return }
        try await claim.save(record(subject))
        try #require(unsafe chown(claim.filePath, 12_345, 12_345) == 0)
        #expect(try await refused())
    }

    @Test func `a directory that is open to others, a link or relative is refused`() async throws {
        let subject = try await subject()
        func code(_ path: String) async throws -> StoreError.Code {
            try await #require(throws: StoreError.self) { _ = try await RecordDirectory(path: path).claim(subject) }
                .code
        }
        let open = directory.path("open")
        try #require(unsafe mkdir(open, 0o700) == 0)
        try #require(unsafe chmod(open, 0o755) == 0)
        #expect(try await code(open) == .recordDirectoryUnusable)
        let linked = directory.path("linked")
        try #require(unsafe symlink(directory.path, linked) == 0)
        #expect(try await code(linked) == .recordDirectoryUnusable)
        #expect(try await code("uploads") == .recordDirectoryUnusable)
        #expect(try await code("/proc/no/such/place") == .recordDirectoryUnusable)
    }

    @Test func `a record does not print the upload ID`() async throws {
        let record = record(try await subject())
        var dumped = ""
        dump(record, to: &dumped)
        #expect(!"\(record) \(dumped) \(String(reflecting: record))".contains("id/7"))
    }

    private func mode(_ path: String) throws -> mode_t {
        var status = stat()
        try #require(unsafe stat(path, &status) == 0)
        return status.st_mode & 0o777
    }
}

extension TemporaryDirectory {
    /// The file names in a subdirectory.
    func names(in folder: String) throws -> [String] {
        guard let stream = unsafe opendir(path(folder)) else { return [] }
        defer { unsafe _ = closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
