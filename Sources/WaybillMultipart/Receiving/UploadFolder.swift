import Glibc
import WaybillCore

/// A folder for the files of forms: files in it are for their owner's eyes only and appear whole or not at all.
///
/// ```swift
/// let folder = try await UploadFolder(path: "/var/lib/cards")
/// let file = try await part.collect(to: folder)
/// try await form.keepFiles()
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
            Self.removeAbandoned(in: descriptor)
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
