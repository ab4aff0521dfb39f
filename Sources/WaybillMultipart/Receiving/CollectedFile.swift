import Glibc
public import WaybillCore

/// A file that was received with a form.
public struct CollectedFile: Sendable, Hashable {
    /// The field name of the part.
    public let part: String
    /// The name in the directory. It is hidden until ``IncomingForm/keepFiles()`` assigns the final name.
    public let name: String
    /// The path of the directory and the name.
    public let path: String
    /// The size of the file.
    public let size: ByteCount
}

/// The naming of received files.
public enum FileNaming: Sendable, Hashable {
    /// A name of 32 random hexadecimal digits, which cannot be guessed.
    case random
    /// The name that the sender suggests, made safe (see ``MultipartPartHead/safeFileName``) and numbered if it exists;
    /// a random name if nothing safe is left of it.
    case suggested
}

extension IncomingPart {
    /// Writes the content to a new file, which belongs to the form until ``IncomingForm/keepFiles()`` is called.
    ///
    /// The file has mode 0600. It is removed with the form unless it is kept, even after an error in a later part.
    /// Files left by a crash are removed by the next ``UploadDirectory/init(path:)``. Existing files are never replaced
    /// and symbolic links never followed. The sender's file name is at most a suggestion.
    ///
    /// - Parameters:
    ///   - folder: The directory in which the file is created and kept.
    ///   - naming: The name that the file receives when it is kept.
    /// - Returns: The file with its temporary hidden name.
    /// - Throws: ``BodyError`` as thrown while reading, ``BodyError/Code/fileTooLarge`` beyond
    ///   ``MultipartLimits/fileBytes`` or ``MultipartLimits/allFileBytes``, ``BodyError/Code/diskFull``,
    ///   ``BodyError/Code/writeFailed``.
    public func collect(
        to folder: UploadDirectory, naming: FileNaming = .random
    ) async throws(BodyError) -> CollectedFile {
        let file = try await ReaderPool.shared.run { () throws(BodyError) in try IncomingFile(in: folder) }
        do throws(BodyError) {
            let size = try await write(to: file)
            let suggestion = naming == .suggested ? head.safeFileName : nil
            let (files, part) = (source.files, name)
            return try await ReaderPool.shared.run { () throws(BodyError) in
                try files.add(file, of: part, size: size, suggestion: suggestion)
            }
        } catch {
            file.discard()
            throw error
        }
    }

    private func write(to file: IncomingFile) async throws(BodyError) -> ByteCount {
        var count: Int64 = 0
        while let chunk = try await source.nextChunk(of: self) {
            count += Int64(chunk.count)
            try source.files.check(count, limits: source.limits, part: name)
            try await ReaderPool.shared.run { () throws(BodyError) in try file.append(chunk) }
        }
        return .bytes(count)
    }
}

extension IncomingForm {
    /// Assigns final names to all files created by ``IncomingPart/collect(to:naming:)``, or to none of them.
    /// Afterwards, the files belong to the caller.
    ///
    /// Call it when the form is complete and accepted. When it returns, files and names are synchronized to the disk.
    ///
    /// - Returns: The files that were collected since the last call, in the order of their parts.
    /// - Throws: ``BodyError/Code/diskFull``, ``BodyError/Code/writeFailed``. The files then still belong to the form.
    @discardableResult
    public func keepFiles() async throws(BodyError) -> [CollectedFile] {
        let files = source.files
        return try await ReaderPool.shared.run { () throws(BodyError) in try files.keep() }
    }
}

/// The files of a form that are not kept yet. Removed when the last reference to the form or its parts is released.
final class PendingFiles: Sendable {
    private struct Entry {
        let file: CollectedFile
        let folder: UploadDirectory
        let suggestion: String?
    }

    private struct State {
        var entries: [Entry] = []
        /// One lock per directory. While a lock is held, no process removes the files as leftovers of a crash.
        var locks: [(folder: UploadDirectory, lock: FormLock)] = []
        var bytes: Int64 = 0
    }

    private let state = Locked(State())

    deinit {
        for entry in state.withLock({ $0.entries }) { entry.folder.remove(entry.file.name) }
    }

    /// Checks the number of bytes received for a file against the limits.
    func check(_ count: Int64, limits: MultipartLimits, part: String) throws(BodyError) {
        if let limit = limits.fileBytes, count > limit.bytes {
            throw BodyError(
                .fileTooLarge, "The file in part \(quoted(part)) exceeds the limit of \(limit) per file.",
                part: part)
        }
        if let limit = limits.allFileBytes, count > limit.bytes - state.withLock({ $0.bytes }) {
            throw BodyError(
                .fileTooLarge, "The files of the form exceed the limit of \(limit) per form.",
                part: part)
        }
    }

    /// Registers a complete file. Blocks on the disk.
    func add(
        _ file: IncomingFile, of part: String, size: ByteCount, suggestion: String?
    ) throws(BodyError) -> CollectedFile {
        let folder = file.folder
        let lock = try lock(in: folder)
        let name = try file.commit(under: lock.name)
        let collected = CollectedFile(part: part, name: name, path: "\(folder.path)/\(name)", size: size)
        state.withLock { state in
            state.entries.append(Entry(file: collected, folder: folder, suggestion: suggestion))
            state.bytes += size.bytes
        }
        return collected
    }

    /// Parts of a form are read one at a time, so no second lock can be created concurrently.
    private func lock(in folder: UploadDirectory) throws(BodyError) -> FormLock {
        let existing = state.withLock { state in
            state.locks.first { $0.folder.descriptor === folder.descriptor }?.lock
        }
        if let existing { return existing }
        let lock = try FormLock(in: folder)
        state.withLock { $0.locks.append((folder, lock)) }
        return lock
    }

    /// Assigns final names to all files. Blocks on the disk.
    func keep() throws(BodyError) -> [CollectedFile] {
        let entries = state.withLock { $0.entries }
        var kept: [CollectedFile] = []
        do throws(BodyError) {
            for entry in entries {
                let name = try entry.folder.link(entry.file.name, suggestion: entry.suggestion)
                kept.append(
                    CollectedFile(
                        part: entry.file.part, name: name, path: "\(entry.folder.path)/\(name)", size: entry.file.size))
            }
            for (folder, _) in state.withLock({ $0.locks }) { try folder.synchronize() }
        } catch {
            for (entry, file) in zip(entries, kept) { entry.folder.remove(file.name) }
            throw error
        }
        for entry in entries { entry.folder.remove(entry.file.name) }
        state.withLock { state in
            state.entries = []
            state.locks = []
        }
        return kept
    }
}

/// A hidden file that is locked while a form has files in the directory. Their names begin with its name.
final class FormLock: Sendable {
    let name: String
    private let folder: UploadDirectory
    private let descriptor: FileDescriptor

    init(in folder: UploadDirectory) throws(BodyError) {
        self.folder = folder
        (name, descriptor) = try folder.makeLocked()
    }

    deinit { folder.remove(name) }
}
