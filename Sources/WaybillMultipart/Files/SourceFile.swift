import CWaybillFiles
import Glibc
import WaybillCore

/// A file that is part of a body: its path, and its state when the length of the body was determined.
package struct SourceFile: Sendable {
    package let path: String
    package let stamp: FileStamp
    /// The part that the file belongs to, for errors.
    package let location: PartLocation?
    /// The open descriptor of a temporary file without a name. It is not checked again: no other process can change it.
    let openDescriptor: FileDescriptor?

    /// Creates a source for the first `size` bytes of a file without a name.
    init(descriptor: FileDescriptor, size: Int64, at location: PartLocation?) {
        self.path = "a temporary file"
        self.stamp = FileStamp(size: size)
        self.location = location
        self.openDescriptor = descriptor
    }

    /// Inspects a file, which must exist, be regular and be readable.
    ///
    /// The file is inspected before it is opened, because merely opening some devices has side effects.
    package init(inspecting path: String, at location: PartLocation?) throws(BodyError) {
        guard !path.utf8.contains(0) else {
            throw BodyError(
                .fileNotFound, "Invalid path \(quoted(path)). A path must not contain a NUL.", at: location, path: path)
        }
        var status = stat()
        guard unsafe SystemPath.with(path, { unsafe stat($0, &status) }) == 0 else {
            throw Self.cannotOpen(path, SystemError.last, at: location)
        }
        try Self.requireRegular(status, path, at: location)
        let raw = unsafe SystemPath.with(path) { unsafe open($0, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) }
        guard raw >= 0 else { throw Self.cannotOpen(path, SystemError.last, at: location) }
        let descriptor = FileDescriptor(owning: raw)
        do {
            status = try descriptor.status()
        } catch {
            throw Self.cannotOpen(path, error, at: location)
        }
        try Self.requireRegular(status, path, at: location)
        try Self.requireTrueSize(descriptor, status, path, at: location)
        self.path = path
        self.stamp = FileStamp(status)
        self.location = location
        self.openDescriptor = nil
    }

    /// Inspects a file without waiting. Returns `nil` if it would have to wait, or if the file is invalid;
    /// ``init(inspecting:at:)`` throws the error then.
    init?(inspectingSynchronously path: String, at location: PartLocation?) {
        var status = stat()
        guard !path.utf8.contains(0),
            unsafe SystemPath.with(path, { unsafe wb_stat_readable_cached($0, &status) }) == 0,
            status.st_mode & S_IFMT == S_IFREG, status.st_size > 0
        else { return nil }
        self.path = path
        self.stamp = FileStamp(status)
        self.location = location
        self.openDescriptor = nil
    }

    /// Returns at most `maxCount` bytes from `start`. May block.
    func prefix(_ maxCount: Int, from start: Int64 = 0) throws(BodyError) -> [UInt8] {
        let disk = DiskAccess()
        let descriptor = try disk.open(self)
        var bytes = [UInt8](repeating: 0, count: Int(min(stamp.size - start, Int64(maxCount))))
        var count = 0
        while count < bytes.count {
            let offset = start + Int64(count)
            let read = unsafe bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(BodyError) in
                    let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                    return try unsafe disk.read(descriptor, self, into: target, at: offset)
                }
            }
            count += try read.get()
        }
        return bytes
    }

    /// The error for a file that has changed.
    package func changed(_ change: SourceChange, to size: Int64? = nil) -> BodyError {
        let difference =
            switch change {
            case .shrank: "shrank from \(stamp.size) to \(size ?? 0) bytes"
            case .grew: "grew from \(stamp.size) to \(size ?? 0) bytes"
            case .modified: "was modified"
            case .replaced: "was replaced by another file"
            case .removed: "was removed"
            }
        return BodyError(
            .sourceChanged,
            "The file changed after its length was determined: \(path) \(difference). The body is incomplete. "
                + "Send it again when no other process writes to the file.", at: location, path: path, cause: change)
    }

    /// The error for a system call that failed while the file was read.
    package func failed(_ error: SystemError) -> BodyError {
        BodyError(.readFailed, "Could not read \(path): \(error).", at: location, path: path, cause: error)
    }

    private static func requireRegular(_ status: stat, _ path: String, at location: PartLocation?) throws(BodyError) {
        let kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: ""
            case S_IFDIR: "a directory"
            case S_IFIFO: "a FIFO"
            case S_IFSOCK: "a socket"
            case S_IFCHR, S_IFBLK: "a device"
            default: "not a file"
            }
        guard kind.isEmpty else {
            throw BodyError(
                .notARegularFile, "\(path) is \(kind). Use a regular file.", at: location,
                path: path)
        }
    }

    // Files of /proc report a size of 0 bytes and then yield bytes: their length cannot be determined.
    private static func requireTrueSize(
        _ descriptor: FileDescriptor, _ status: stat, _ path: String, at location: PartLocation?
    ) throws(BodyError) {
        guard status.st_size == 0 else { return }
        var byte: UInt8 = 0
        guard unsafe pread(descriptor.raw, &byte, 1, 0) <= 0 else {
            throw BodyError(
                .notARegularFile,
                "\(path) has size 0 but contains bytes, as files in /proc do. Read the file and send its bytes.",
                at: location, path: path)
        }
    }

    private static func cannotOpen(_ path: String, _ error: SystemError, at location: PartLocation?) -> BodyError {
        switch error.number {
        case ENOENT, ENOTDIR:
            BodyError(
                .fileNotFound, "File not found: \(quoted(path, limit: 400)). Check the path.", at: location,
                path: path, cause: error)
        case EACCES, EPERM:
            BodyError(
                .fileNotReadable, "Could not read \(path): \(error). Check its permissions.", at: location, path: path,
                cause: error)
        case EMFILE, ENFILE:
            BodyError(
                .fileNotReadable, "Could not open \(path): \(error). Raise the limit of open files.", at: location,
                path: path, cause: error)
        default:
            BodyError(
                .fileNotReadable, "Could not open \(path): \(error).", at: location, path: path, cause: error)
        }
    }
}

/// A range of a file that is part of a body; usually the whole file.
struct FileSlice: Sendable {
    let source: SourceFile
    /// The range of bytes that is sent.
    let range: Range<Int64>

    var count: Int64 { range.upperBound - range.lowerBound }

    init(_ source: SourceFile) {
        self.source = source
        range = 0..<source.stamp.size
    }

    private init(source: SourceFile, range: Range<Int64>) {
        self.source = source
        self.range = range
    }

    /// Returns a part of the slice, relative to its start.
    func slice(_ part: Range<Int64>) -> FileSlice {
        FileSlice(source: source, range: range.lowerBound + part.lowerBound..<range.lowerBound + part.upperBound)
    }

    /// Creates a slice of a range of a file, or of the whole file if `range` is `nil`.
    ///
    /// - Throws: ``BodyError/Code/invalidRange`` if the range exceeds the file.
    init(_ source: SourceFile, range: Range<Int64>?) throws(BodyError) {
        let range = range ?? 0..<source.stamp.size
        guard range.lowerBound >= 0, range.upperBound <= source.stamp.size else {
            throw BodyError(
                .invalidRange,
                "The byte range \(range.lowerBound)..<\(range.upperBound) exceeds the \(source.stamp.size) bytes of "
                    + "\(source.path).", at: source.location, path: source.path)
        }
        self.source = source
        self.range = range
    }
}
