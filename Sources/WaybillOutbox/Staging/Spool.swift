import Glibc
package import Waybill
import WaybillCore

/// The storage of an item's files until it is delivered.
public enum FileStorage: String, Sendable, Hashable, Codable {
    /// Files stay in place. A change after enqueuing is detected; see ``SourceChangePolicy``. Costs no disk space.
    case reference
    /// Files are copied into the outbox, so that the originals may change or be removed. On a file system that can
    /// share blocks (Btrfs, XFS), the copy shares them and takes no disk space; elsewhere it is a full copy.
    case snapshot
}

/// The directory of staged files. A staged file and its name are synchronized to the disk before the row that refers to
/// it is committed. A crash therefore leaves at most files that no row refers to, which are removed at the next start.
package struct Spool: Sendable {
    package let directory: String
    package var operations: SpoolFileOperations

    package init(directory: String, operations: SpoolFileOperations = SpoolFileOperations()) {
        self.directory = directory
        self.operations = operations
    }

    package func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// A shared lock that prevents sweeping of files that were staged before their row is committed.
    package final class SweepLock: Sendable {
        private let descriptor: Int32
        init(_ descriptor: Int32) { self.descriptor = descriptor }
        deinit { close(descriptor) }
    }

    /// Prevents sweeping by any process for the lifetime of the returned value.
    package func lockAgainstSweep() throws(OutboxError) -> SweepLock? {
        guard let shared = lock(LOCK_SH) else {
            throw OutboxError(.storageFailed, "Could not lock \(directory): \(errorText(errno)).")
        }
        return shared
    }

    /// Stages the files of an upload: bytes in memory and files without a name always, other files only for a snapshot.
    ///
    /// - Returns: The names of the staged files. On failure, none is left.
    package func stage(
        _ upload: inout some DurableUpload, fileStorage: FileStorage
    ) async throws(OutboxError) -> [String] {
        var files = upload.files
        let staged = files.indices.filter { files[$0].isToBeStaged(fileStorage) }
        for index in files.indices where !staged.contains(index) { try await files[index].record() }
        let names = try await store(staged.map { files[$0] })
        do throws(OutboxError) {
            for (index, name) in zip(staged, names) {
                files[index] = DurableFile(path: path(name))
                files[index].isStaged = true
                try await files[index].record()
            }
        } catch {
            remove(names)
            throw error
        }
        if !files.isEmpty { upload.files = files }
        return names
    }

    /// Writes or copies files, and synchronizes them and their names.
    ///
    /// - Returns: The names, in the same order. On failure, none is left.
    func store(_ files: [DurableFile]) async throws(OutboxError) -> [String] {
        var names: [String] = []
        do throws(OutboxError) {
            for file in files {
                if let bytes = file.pending {
                    names.append(try await write(bytes))
                } else {
                    names.append(try await copy(file))
                }
            }
            if !names.isEmpty {
                try await BlockingThread.run { () throws(OutboxError) in try operations.syncNames(in: directory) }
            }
        } catch {
            remove(names)
            throw error
        }
        return names
    }

    /// Removes staged files.
    package func remove(_ names: [String]) {
        for name in names where !name.contains("/") { unsafe unlink(path(name)) }
    }

    /// Removes files that no row refers to, unless files are being staged at the moment.
    ///
    /// - Returns: The number of removed files, or `nil` if files are being staged.
    package func sweep(inUse: ([String]) async throws(OutboxError) -> Set<String>) async throws(OutboxError) -> Int? {
        guard let exclusive = lock(LOCK_EX | LOCK_NB) else { return nil }
        defer { _ = exclusive }
        return try await remove(fileNames(), exceptIn: inUse)
    }

    /// Removes files that no row refers to and that were last modified longer ago than a number of seconds.
    func sweep(
        minimumAge: Int, inUse: ([String]) async throws(OutboxError) -> Set<String>
    ) async throws(OutboxError) -> Int {
        let limit = time(nil) - minimumAge
        let old = fileNames().filter { name in
            var status = stat()
            return unsafe stat(path(name), &status) == 0 && status.st_mtim.tv_sec < limit
        }
        return try await remove(old, exceptIn: inUse)
    }

    private func remove(
        _ names: [String], exceptIn inUse: ([String]) async throws(OutboxError) -> Set<String>
    ) async throws(OutboxError) -> Int {
        var count = 0
        var names = names
        while !names.isEmpty {
            let page = Array(names.suffix(500))
            names.removeLast(page.count)
            let used = try await inUse(page)
            let orphans = page.filter { !used.contains($0) }
            remove(orphans)
            count += orphans.count
        }
        return count
    }

    /// The number of bytes that all staged files take on the disk.
    package func allocatedBytes() -> Int64 { fileNames().reduce(0) { $0 + WaybillOutbox.allocatedBytes(of: path($1)) } }

    /// Returns the names of all staged files.
    package func fileNames() -> [String] {
        guard let stream = unsafe opendir(directory) else { return [] }
        defer { unsafe _ = closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private func lock(_ operation: Int32) -> SweepLock? {
        let descriptor = unsafe Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let lock = SweepLock(descriptor)
        return flock(descriptor, operation) == 0 ? lock : nil
    }
}

extension Spool: BodyStorage {
    func stage(
        _ upload: inout some DurableUpload, _ options: EnqueueOptions
    ) async throws(OutboxError) -> StagedFiles {
        StagedFiles(names: try await stage(&upload, fileStorage: options.fileStorage))
    }

    /// Returns the upload with its staged files in this directory: one machine has the files and the queue.
    func open(
        _ upload: any DurableUpload, read: (String) async throws(OutboxError) -> [UInt8]?
    ) async throws(OutboxError) -> OpenedUpload { OpenedUpload(upload: await located(upload)) }

    private func write(_ bytes: [UInt8]) async throws(OutboxError) -> String {
        let name = RandomName.make()
        try await BlockingThread.run { () throws(OutboxError) in
            try make(name) { file, path throws(OutboxError) in try operations.write(bytes, to: file, path) }
        }
        return name
    }

    private func copy(_ source: DurableFile) async throws(OutboxError) -> String {
        let name = RandomName.make()
        do throws(OutboxError) {
            try await Self.reading(source) { () throws(OutboxError) in
                try make(name) { file, path throws(OutboxError) in try copy(source.path, to: file, path) }
            }
        } catch {
            remove([name])
            throw error
        }
        return name
    }

    /// Returns the bytes of a file, or of a file that is in memory.
    static func bytes(of source: DurableFile) async throws(OutboxError) -> [UInt8] {
        if let bytes = source.pending { return bytes }
        return try await reading(source) { () throws(OutboxError) in
            var bytes: [UInt8] = []
            let input = try open(source.path, SpoolFileOperations())
            defer { withExtendedLifetime(input) {} }
            while let chunk = try next(input, source.path, SpoolFileOperations()) { bytes += chunk }
            return bytes
        }
    }

    /// Reads a file. A copy that mixes two states of the source is invalid.
    private static func reading<Value: Sendable>(
        _ source: DurableFile, _ work: @escaping @Sendable () throws(OutboxError) -> Value
    ) async throws(OutboxError) -> Value {
        var before = source
        try await before.record()
        let value = try await BlockingThread.run(work)
        do {
            try await before.check()
        } catch {
            throw OutboxError(
                .uploadRefused, "\(source.path) changed while it was copied. Enqueue the upload again.", cause: error)
        }
        return value
    }

    /// Creates a file that is complete and synchronized to the disk, or none.
    private func make(
        _ name: String, _ fill: (AtomicFile, String) throws(OutboxError) -> Void
    ) throws(OutboxError) {
        let path = path(name)
        let file = try operations.create(path)
        try fill(file, path)
        try operations.sync(file, path)
        file.keepName()
    }

    /// Adds a copy of a file of another spool under its name; it shares all blocks if the file system supports it. Does
    /// nothing if the name exists here, or not there.
    ///
    /// Not a link: that would change the status change time of the other file, as if its contents had changed.
    func add(_ name: String, from other: Spool) throws(OutboxError) {
        guard unsafe access(path(name), F_OK) != 0, unsafe access(other.path(name), F_OK) == 0 else { return }
        try make(name) { file, path throws(OutboxError) in try copy(other.path(name), to: file, path) }
    }

    private func copy(_ source: String, to file: AtomicFile, _ path: String) throws(OutboxError) {
        let input = try Self.open(source, operations)
        defer { withExtendedLifetime(input) {} }
        if operations.clone(input, to: file) { return }
        while let chunk = try Self.next(input, source, operations) { try operations.write(chunk, to: file, path) }
    }

    private static func open(
        _ source: String, _ operations: SpoolFileOperations
    ) throws(OutboxError) -> FileDescriptor {
        let raw = unsafe SystemPath.with(source) { unsafe Glibc.open($0, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) }
        guard raw >= 0 else { throw operations.readFailed(errno, source) }
        return FileDescriptor(owning: raw)
    }

    /// Returns up to 1 MiB from the current position; `nil` at the end of the file.
    private static func next(
        _ input: FileDescriptor, _ source: String, _ operations: SpoolFileOperations
    ) throws(OutboxError) -> [UInt8]? {
        while true {
            try operations.check(.read, source)
            var number: Int32 = 0
            let chunk = unsafe [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
                let read = unsafe read(input.raw, buffer.baseAddress!, buffer.count)
                count = max(0, read)
                if read < 0 { number = errno }
            }
            if number == EINTR { continue }
            guard number == 0 else { throw operations.readFailed(number, source) }
            return chunk.isEmpty ? nil : chunk
        }
    }
}

extension Spool {
    /// Returns an upload with its staged files in this directory: it may have been moved, or restored from a backup, whose
    /// files have other inode numbers.
    func located(_ upload: any DurableUpload) async -> any DurableUpload {
        var files = upload.files
        for index in files.indices where files[index].isStaged {
            guard let name = files[index].path.split(separator: "/").last else { continue }
            let path = DurableFile(path: path(String(name))).path
            // The usual case, also by another path of the same directory.
            guard Self.inode(files[index].path) != files[index].stamp?.inode || !Self.isSame(files[index].path, path)
            else { continue }
            files[index].path = path
            var found = files[index]
            guard (try? await found.inspect()) != nil, found.stamp?.size == files[index].stamp?.size else { continue }
            files[index] = found
        }
        guard files != upload.files else { return upload }
        var upload = upload
        upload.files = files
        return upload
    }

    private static func inode(_ path: String) -> UInt64? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    private static func isSame(_ path: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard unsafe stat(path, &first) == 0, unsafe stat(other, &second) == 0 else { return false }
        return first.st_ino == second.st_ino && first.st_dev == second.st_dev
    }
}
