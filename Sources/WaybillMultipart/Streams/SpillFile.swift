import Glibc
import WaybillCore

/// A temporary file without a name: mode 0600, in no folder, gone with its last descriptor, whatever becomes of the
/// process.
///
/// One writer, any number of readers by offset.
package final class SpillFile: Sendable {
    package let descriptor: FileDescriptor
    private let directory: String
    private let place: PartPlace?

    /// Makes a file in a folder; `nil` is the one that `TMPDIR` names, else `/tmp`. To be called on the pool.
    package init(in directory: String?, at place: PartPlace?) throws(BodyError) {
        let directory = directory ?? Self.defaultDirectory
        self.directory = directory
        self.place = place
        var raw = unsafe open(directory, O_RDWR | O_CLOEXEC | Self.withoutName, 0o600)
        if raw < 0, [EOPNOTSUPP, EISDIR, EINVAL, ENOENT].contains(errno) { raw = Self.openUnlinked(in: directory) }
        guard raw >= 0 else { throw Self.failure(SystemError.last, directory, at: place) }
        descriptor = FileDescriptor(owning: raw)
    }

    /// Takes any open file for one; tests hand in one that is always full.
    init(_ descriptor: FileDescriptor, at place: PartPlace?) {
        self.descriptor = descriptor
        self.place = place
        directory = "?"
    }

    /// Writes a chunk to its place. To be called on the pool.
    ///
    /// - Throws: ``BodyError/Code/diskFull``, or ``BodyError/Code/writeFailed``.
    package func write(_ chunk: [UInt8], at offset: Int64) throws(BodyError) {
        var start = 0
        while start < chunk.count {
            let written = unsafe chunk.withUnsafeBytes { bytes in
                unsafe pwrite(
                    descriptor.raw, bytes.baseAddress! + start, bytes.count - start, off_t(offset + Int64(start)))
            }
            if written > 0 {
                start += written
            } else if written == 0 || errno != EINTR {
                throw Self.failure(written == 0 ? SystemError(ENOSPC) : SystemError.last, directory, at: place)
            }
        }
    }

    /// The first bytes, as a source that a reader can read.
    func source(_ count: Int64) -> SourceFile { SourceFile(holding: descriptor, size: count, at: place) }

    private static func failure(_ error: SystemError, _ directory: String, at place: PartPlace?) -> BodyError {
        switch error.number {
        // EFBIG: the process may not write files as large as that (`ulimit -f`).
        case ENOSPC, EDQUOT, EFBIG:
            BodyError(
                .diskFull,
                "the stream can't be kept in \(directory) until it is sent: \(error). \(Remedy.makeRoomForStream)",
                at: place, path: directory, cause: error)
        default:
            BodyError(
                .writeFailed,
                "no temporary file can be written in \(directory): \(error). \(Remedy.chooseTemporaryDirectory)",
                at: place, path: directory, cause: error)
        }
    }

    // For file systems that make none without a name, overlays and network ones mostly.
    private static func openUnlinked(in directory: String) -> Int32 {
        let path = "\(directory)/.waybill-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let raw = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if raw >= 0 { unsafe _ = unlink(path) }
        return raw
    }

    private static var defaultDirectory: String {
        guard let value = unsafe getenv("TMPDIR"), unsafe value.pointee != 0 else { return "/tmp" }
        return unsafe String(cString: value)
    }

    /// `O_TMPFILE`, which glibc shows only with _GNU_SOURCE: a bit of its own (`asm-generic/fcntl.h`) and O_DIRECTORY.
    private static let withoutName: Int32 = 0o20000000 | O_DIRECTORY
}
