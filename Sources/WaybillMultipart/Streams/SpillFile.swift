import Glibc
import WaybillCore

/// A temporary file without a name, with mode 0600. The system removes it with its last descriptor.
///
/// One writer, any number of readers by offset.
package final class SpillFile: Sendable {
    package let descriptor: FileDescriptor
    private let directory: String
    private let place: PartPlace?

    /// Makes a file in a directory; `nil` is the one that `TMPDIR` names, else `/tmp`. Call it on the pool.
    package init(in directory: String?, at place: PartPlace?) throws(BodyError) {
        let directory = directory ?? Self.defaultDirectory
        self.directory = directory
        self.place = place
        do throws(SystemError) {
            let file = try NewFile.make(for: "\(directory)/", access: O_RDWR)
            try file.removeTemporaryName()
            descriptor = file.descriptor
        } catch {
            throw Self.failure(error, directory, at: place)
        }
    }

    /// Makes a value of any open file, such as one that is always full.
    init(_ descriptor: FileDescriptor, at place: PartPlace?) {
        self.descriptor = descriptor
        self.place = place
        directory = "?"
    }

    /// Writes a chunk to its place. To be called on the pool.
    ///
    /// - Throws: ``BodyError/Code/diskFull``, or ``BodyError/Code/writeFailed``.
    package func write(_ chunk: [UInt8], at offset: Int64) throws(BodyError) {
        do {
            try descriptor.write(chunk, at: offset)
        } catch {
            throw Self.failure(error, directory, at: place)
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

    private static var defaultDirectory: String {
        guard let value = unsafe getenv("TMPDIR"), unsafe value.pointee != 0 else { return "/tmp" }
        return unsafe String(cString: value)
    }
}
