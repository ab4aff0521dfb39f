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
    package func lockAgainstSweep() throws(OutboxError) -> SweepLock {
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
        var names: [String] = []
        do throws(OutboxError) {
            for index in files.indices {
                if let bytes = files[index].pending {
                    names.append(try await write(bytes))
                } else if fileStorage == .snapshot || files[index].belongsToProcess, !files[index].isStaged {
                    names.append(try await copy(files[index]))
                } else {
                    try await Self.inspect(&files[index])
                    continue
                }
                files[index] = DurableFile(path: path(names[names.count - 1]))
                files[index].isStaged = true
                try await Self.inspect(&files[index])
            }
            if !names.isEmpty {
                try await BlockingThread.run { () throws(OutboxError) in try operations.syncNames(in: directory) }
            }
        } catch {
            remove(names)
            throw error
        }
        if !files.isEmpty { upload.files = files }
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
        var count = 0
        var names = fileNames()
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
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let lock = SweepLock(descriptor)
        return flock(descriptor, operation) == 0 ? lock : nil
    }

    private static func inspect(_ file: inout DurableFile) async throws(OutboxError) {
        do {
            try await file.inspect()
        } catch {
            throw OutboxError(.uploadRefused, error.message, cause: error)
        }
    }
}

extension Spool {
    private func write(_ bytes: [UInt8]) async throws(OutboxError) -> String {
        try await BlockingThread.run { () throws(OutboxError) in
            try make { file, path throws(OutboxError) in try operations.write(bytes, to: file, path) }
        }
    }

    private func copy(_ source: DurableFile) async throws(OutboxError) -> String {
        var seen = source
        try await Self.inspect(&seen)
        let before = seen
        let name = try await BlockingThread.run { () throws(OutboxError) in
            try make { file, path throws(OutboxError) in try copy(source.path, to: file, path) }
        }
        do {
            // A copy that mixes two states of the source is invalid.
            try await before.check()
        } catch {
            remove([name])
            throw OutboxError(
                .uploadRefused, "\(source.path) changed while it was copied. Enqueue the upload again.", cause: error)
        }
        return name
    }

    /// Creates a file that is complete and synchronized to the disk, or none.
    private func make(_ fill: (AtomicFile, String) throws(OutboxError) -> Void) throws(OutboxError) -> String {
        let halves = [UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)]
        let name = halves.map { String($0, radix: 36) }.joined(separator: "-")
        let path = path(name)
        let file = try operations.create(path)
        try fill(file, path)
        try operations.sync(file, path)
        file.keepName()
        return name
    }

    private func copy(_ source: String, to file: AtomicFile, _ path: String) throws(OutboxError) {
        let raw = unsafe SystemPath.with(source) { unsafe open($0, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) }
        guard raw >= 0 else { throw operations.readFailed(errno, source) }
        let input = FileDescriptor(owning: raw)
        defer { withExtendedLifetime(input) {} }
        if operations.clone(input, to: file) { return }
        while true {
            try operations.check(.read, source)
            var number: Int32 = 0
            let chunk = unsafe [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
                let read = unsafe read(raw, buffer.baseAddress!, buffer.count)
                count = max(0, read)
                if read < 0 { number = errno }
            }
            if number == EINTR { continue }
            guard number == 0 else { throw operations.readFailed(number, source) }
            if chunk.isEmpty { return }
            try operations.write(chunk, to: file, path)
        }
    }
}

extension DurableFile {
    /// Whether the path refers to an open descriptor of this process, which other processes cannot access.
    fileprivate var belongsToProcess: Bool { path.hasPrefix("/proc/self/fd/") }
}
