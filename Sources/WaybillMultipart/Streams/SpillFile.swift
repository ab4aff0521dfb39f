import Glibc
import WaybillCore

/// A temporary file without a name, with mode 0600. The system removes it when its last descriptor is closed.
///
/// Supports one writer and any number of readers at independent offsets.
package final class SpillFile: Sendable {
    package let descriptor: FileDescriptor
    private let directory: String
    private let location: PartLocation?

    /// Creates a file in a directory; `nil` means the one named by `TMPDIR`, or else `/tmp`. Call it on the pool.
    package init(in directory: String?, at location: PartLocation?) throws(BodyError) {
        let directory = directory ?? SystemPath.temporaryDirectory
        self.directory = directory
        self.location = location
        do throws(SystemError) {
            let file = try AtomicFile.make(for: "\(directory)/", access: O_RDWR)
            try file.removeTemporaryName()
            descriptor = file.descriptor
        } catch {
            throw Self.failure(error, directory, at: location)
        }
    }

    /// Creates an instance for any open file, for example `/dev/full` in tests.
    init(_ descriptor: FileDescriptor, at location: PartLocation?) {
        self.descriptor = descriptor
        self.location = location
        directory = "?"
    }

    /// Writes a chunk at an offset. Call it on the pool.
    ///
    /// - Throws: ``BodyError/Code/diskFull``, or ``BodyError/Code/writeFailed``.
    package func write(_ chunk: [UInt8], at offset: Int64) throws(BodyError) {
        do {
            try descriptor.write(chunk, at: offset)
        } catch {
            throw Self.failure(error, directory, at: location)
        }
    }

    /// Returns the first bytes as a source for a reader.
    func source(_ count: Int64) -> SourceFile { SourceFile(descriptor: descriptor, size: count, at: location) }

    private static func failure(_ error: SystemError, _ directory: String, at location: PartLocation?) -> BodyError {
        switch error.number {
        // EFBIG: the file exceeds the size limit of the process (`ulimit -f`).
        case ENOSPC, EDQUOT, EFBIG:
            BodyError(
                .diskFull,
                "Could not store the stream in \(directory): \(error). \(Remedy.freeDiskSpaceForStream)",
                at: location, path: directory, cause: error)
        default:
            BodyError(
                .writeFailed,
                "Could not write a temporary file to \(directory): \(error). \(Remedy.chooseTemporaryDirectory)",
                at: location, path: directory, cause: error)
        }
    }
}
