import Glibc
import WaybillCore

/// A directory for received files. Its files are accessible to their owner only, and appear complete or not at all.
///
/// ```swift
/// let folder = try await UploadDirectory(path: "/var/lib/cards")
/// let file = try await part.collect(to: folder)
/// try await form.keepFiles()
/// ```
///
/// The directory is opened once; replacing its path by a symbolic link later does not redirect any file.
public struct UploadDirectory: Sendable {
    /// The path of the directory.
    public let path: String
    let descriptor: FileDescriptor
    // Set by tests to use the code path for file systems without support for unnamed files.
    var namesUnfinishedFiles = false

    /// Opens a directory. It is created with mode 0700 if it does not exist; its parent must exist.
    ///
    /// - Throws: ``BodyError/Code/writeFailed`` if it cannot be created or is a file, a symbolic link or
    ///   world-writable.
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
            throw BodyError(.writeFailed, "Invalid directory path \(quoted(path)).", path: path)
        }
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw failure("create the directory", path, .last)
        }
        let raw = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard raw >= 0 else { throw failure("open the directory", path, .last) }
        let descriptor = FileDescriptor(owning: raw)
        do {
            guard try descriptor.status().st_mode & S_IWOTH == 0 else {
                throw BodyError(
                    .writeFailed, "\(path) is world-writable. Use a directory that only this user can write to.",
                    path: path)
            }
        } catch let error as SystemError {
            throw failure("inspect", path, error)
        } catch let error as BodyError {
            throw error
        } catch {}
        return descriptor
    }

    private static func failure(_ verb: String, _ path: String, _ error: SystemError) -> BodyError {
        BodyError(.writeFailed, "Could not \(verb) \(path): \(error).", path: path, cause: error)
    }
}
