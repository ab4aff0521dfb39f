import Glibc
import WaybillCore

/// Writes chunks to a new file, or leaves no file.
struct BodyFileWriter {
    let path: String

    func write(_ chunks: BodyChunks) async throws(BodyError) {
        let path = path
        let descriptor = try await ReaderPool.shared.run { () throws(BodyError) in try Self.create(path) }
        do throws(BodyError) {
            var iterator = chunks.makeAsyncIterator()
            while let chunk = try await iterator.next() {
                try await ReaderPool.shared.run { () throws(BodyError) in
                    try Self.writeAll(chunk, to: descriptor, path)
                }
            }
        } catch {
            await Self.remove(path, descriptor)
            throw error
        }
    }

    private static func create(_ path: String) throws(BodyError) -> FileDescriptor {
        guard !path.utf8.contains(0) else {
            throw BodyError(.writeFailed, "A path can't contain a NUL: \(quoted(path)).", path: path)
        }
        let raw = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard raw >= 0 else {
            let error = SystemError.last
            if error.number == EEXIST {
                throw BodyError(
                    .fileExists, "Something is at \(path) already. Remove it or choose another path.", path: path,
                    cause: error)
            }
            throw BodyError(.writeFailed, "\(path) can't be created: \(error).", path: path, cause: error)
        }
        return FileDescriptor(owning: raw)
    }

    private static func writeAll(_ chunk: [UInt8], to descriptor: FileDescriptor, _ path: String) throws(BodyError) {
        var start = 0
        while start < chunk.count {
            let written = unsafe chunk.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor.raw, bytes.baseAddress! + start, bytes.count - start)
            }
            if written > 0 {
                start += written
            } else if errno != EINTR {
                let error = SystemError.last
                throw BodyError(.writeFailed, "\(path) can't be written: \(error).", path: path, cause: error)
            }
        }
    }

    // Only the file made here: whoever put another one in its place keeps it.
    private static func remove(_ path: String, _ descriptor: FileDescriptor) async {
        try? await ReaderPool.shared.run { () throws(BodyError) in
            var there = stat()
            guard let ours = try? descriptor.status(), unsafe lstat(path, &there) == 0 else { return }
            if there.st_ino == ours.st_ino, there.st_dev == ours.st_dev { unsafe unlink(path) }
        }
    }
}
