import Glibc
public import WaybillCore

/// A file that came with a form.
public struct CollectedFile: Sendable, Hashable {
    /// The field name of its part.
    public let part: String
    /// Its name in the folder: a hidden one until ``IncomingForm/keepFiles()`` gives it its own.
    public let name: String
    /// The path of the folder and the name.
    public let path: String
    /// How much it holds.
    public let size: ByteCount
}

/// How a file that came with a form is called on the disk.
public enum FileNaming: Sendable, Hashable {
    /// 32 random hexadecimal digits: not guessable.
    case random
    /// What the sender suggests, made safe (``MultipartPartHead/safeFileName``), with a number where that name is taken;
    /// random if nothing safe is left of it.
    case suggested
}

extension IncomingPart {
    /// Puts the content into a new file, which belongs to the form until ``IncomingForm/keepFiles()`` is called.
    ///
    /// The file has mode 0600. It is removed with the form unless it is kept: after an error in a later part, too. What a crash
    /// leaves is removed by the next ``UploadFolder/init(path:)``. Nothing is ever replaced, no link followed, and what the
    /// sender calls the file is at most a suggestion.
    ///
    /// - Parameters:
    ///   - folder: Where the file is made, and stays.
    ///   - naming: How it is called when it is kept.
    /// - Returns: The file, under the hidden name that it has until then.
    /// - Throws: ``BodyError``: what reading throws, ``BodyError/Code/fileTooLarge`` beyond ``MultipartLimits/fileBytes`` or
    ///   ``MultipartLimits/allFileBytes``, ``BodyError/Code/diskFull``, ``BodyError/Code/writeFailed``.
    public func collect(
        to folder: UploadFolder, naming: FileNaming = .random
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
    /// Gives the files that ``IncomingPart/collect(to:naming:)`` made their names, all or none. From then on they are yours.
    ///
    /// Call it when the form is complete and you accept it. When it returns, files and names are on the disk.
    ///
    /// - Returns: The files that were collected since the last call, in the order of their parts.
    /// - Throws: ``BodyError/Code/diskFull``, ``BodyError/Code/writeFailed``. The files still belong to the form then.
    @discardableResult
    public func keepFiles() async throws(BodyError) -> [CollectedFile] {
        let files = source.files
        return try await ReaderPool.shared.run { () throws(BodyError) in try files.keep() }
    }
}

/// The files of a form that were not kept yet. They go with the last part of the form that anybody holds.
final class UnkeptFiles: Sendable {
    private struct Entry {
        let file: CollectedFile
        let folder: UploadFolder
        let suggestion: String?
    }

    private struct State {
        var entries: [Entry] = []
        /// One per directory. While it is held, no process removes the files as leftovers of a crash.
        var locks: [(folder: UploadFolder, lock: FormLock)] = []
        var bytes: Int64 = 0
    }

    private let state = Locked(State())

    deinit {
        for entry in state.withLock({ $0.entries }) { entry.folder.remove(entry.file.name) }
    }

    /// Whether a file that has so many bytes by now may go on.
    func check(_ count: Int64, limits: MultipartLimits, part: String) throws(BodyError) {
        if let most = limits.fileBytes, count > most.bytes {
            throw BodyError(
                .fileTooLarge, "The file in part \(quoted(part)) is larger than \(most), the limit for one file.",
                part: part)
        }
        if let most = limits.allFileBytes, count > most.bytes - state.withLock({ $0.bytes }) {
            throw BodyError(
                .fileTooLarge, "The files of the form are larger than \(most) together, the limit for one form.",
                part: part)
        }
    }

    /// Takes a complete file. Waits for the disk.
    func add(
        _ file: IncomingFile, of part: String, size: ByteCount, suggestion: String?
    ) throws(BodyError) -> CollectedFile {
        let folder = file.folder
        let lock = try lock(in: folder)
        let name = try file.commit(under: lock.name)
        let made = CollectedFile(part: part, name: name, path: "\(folder.path)/\(name)", size: size)
        state.withLock { state in
            state.entries.append(Entry(file: made, folder: folder, suggestion: suggestion))
            state.bytes += size.bytes
        }
        return made
    }

    /// Parts of a form are read one at a time, so no second lock is made meanwhile.
    private func lock(in folder: UploadFolder) throws(BodyError) -> FormLock {
        let held = state.withLock { state in
            state.locks.first { $0.folder.descriptor === folder.descriptor }?.lock
        }
        if let held { return held }
        let lock = try FormLock(in: folder)
        state.withLock { $0.locks.append((folder, lock)) }
        return lock
    }

    /// Names all of them. Waits for the disk.
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

/// A hidden file that is locked while a form lives that has files in a folder. Their names begin with its.
final class FormLock: Sendable {
    let name: String
    private let folder: UploadFolder
    private let descriptor: FileDescriptor

    init(in folder: UploadFolder) throws(BodyError) {
        self.folder = folder
        (name, descriptor) = try folder.makeLocked()
    }

    deinit { folder.remove(name) }
}
