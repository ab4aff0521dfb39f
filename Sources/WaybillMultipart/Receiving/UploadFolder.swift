import Glibc
import WaybillCore

/// A folder for the files of forms: files in it are for their owner's eyes only and appear whole or not at all.
///
/// ```swift
/// let folder = try await UploadFolder(path: "/var/lib/cards")
/// let file = try await part.collect(to: folder)
/// ```
///
/// The folder is opened once. Whoever replaces it later by a link leads nobody astray.
public struct UploadFolder: Sendable {
    /// Where it lies.
    public let path: String
    let descriptor: FileDescriptor
    // Tests choose the way of file systems that make no file without a name.
    var namesUnfinishedFiles = false

    /// Opens a folder. It is made, with mode 0700, if nothing is there; the folder above has to be.
    ///
    /// - Throws: ``BodyError/Code/writeFailed`` when it can't be made, is no folder or a link to one, or may be written
    ///   to by everybody.
    public init(path: String) async throws(BodyError) {
        self.path = path
        descriptor = try await ReaderPool.shared.run { () throws(BodyError) in
            let descriptor = try Self.open(path)
            IncomingFile.removeAbandoned(in: descriptor)
            return descriptor
        }
    }

    private static func open(_ path: String) throws(BodyError) -> FileDescriptor {
        guard !path.utf8.contains(0), !path.utf8.isEmpty else {
            throw BodyError(.writeFailed, "\(quoted(path)) can't be the path of a folder.", path: path)
        }
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("made", path, .last) }
        let raw = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard raw >= 0 else { throw failure("opened as a folder", path, .last) }
        let descriptor = FileDescriptor(owning: raw)
        do {
            guard try descriptor.status().st_mode & S_IWOTH == 0 else {
                throw BodyError(
                    .writeFailed, "Everybody may write to \(path). Choose a folder of the program's own.", path: path)
            }
        } catch let error as SystemError {
            throw failure("looked at", path, error)
        } catch let error as BodyError {
            throw error
        } catch {}
        return descriptor
    }

    private static func failure(_ verb: String, _ path: String, _ error: SystemError) -> BodyError {
        BodyError(.writeFailed, "\(path) can't be \(verb): \(error).", path: path, cause: error)
    }
}

/// A file that came with a form.
public struct CollectedFile: Sendable, Hashable {
    /// Its name in the folder.
    public let name: String
    /// The path of the folder and the name.
    public let path: String
    /// How much it holds.
    public let size: ByteCount
}

/// How a file that came with a form is called on the disk.
public enum FileNaming: Sendable, Hashable {
    /// 32 random hexadecimal digits, which nobody can guess.
    case random
    /// What the sender suggests, made safe (``MultipartPartHead/safeFileName``), with a number where that name is taken;
    /// random if nothing safe is left of it.
    case suggested
}

extension IncomingPart {
    /// Puts the content into a new file.
    ///
    /// The file has mode 0600. It is written without a name (`O_TMPFILE`) and gets one when it is complete and on the disk:
    /// an error, a cancelled task, a full disk or a crash leave nothing behind. Where the file system has no such files,
    /// it has a hidden name until then, and what a crash leaves is removed by the next ``UploadFolder/init(path:)``.
    ///
    /// Nothing is ever replaced, no link followed, and what the sender calls the file is at most a suggestion.
    ///
    /// - Throws: ``BodyError``: what reading throws, ``BodyError/Code/diskFull``, ``BodyError/Code/writeFailed``.
    public func collect(
        to folder: UploadFolder, naming: FileNaming = .random
    ) async throws(BodyError) -> CollectedFile {
        let file = try await ReaderPool.shared.run { () throws(BodyError) in try IncomingFile(in: folder) }
        var count: Int64 = 0
        while let chunk = try await source.nextChunk(of: self) {
            count += Int64(chunk.count)
            try await ReaderPool.shared.run { () throws(BodyError) in try file.append(chunk) }
        }
        let suggestion = naming == .suggested ? head.safeFileName : nil
        let name = try await ReaderPool.shared.run { () throws(BodyError) in try file.commit(as: suggestion) }
        return CollectedFile(name: name, path: "\(folder.path)/\(name)", size: .bytes(count))
    }
}
