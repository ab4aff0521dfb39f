import Glibc
import WaybillCore

/// Reads and writes whole files.
enum PhotoFile {
    /// Throws if the path cannot be that of the output, so that no work is done in vain.
    static func check(_ path: String, replaces: Bool) throws(JPEGError) {
        switch AtomicFile.destination(path) {
        case .free: return
        case .file: guard replaces else { throw exists(path) }
        case .directory: throw JPEGError(.notARegularFile, "\(path) is a directory. Add a file name.")
        case .special:
            throw JPEGError(.notARegularFile, "\(path) is not a regular file, and is not replaced. Use another path.")
        }
    }

    /// Writes a file that appears complete or not at all.
    static func write(
        _ bytes: [UInt8], to path: String, replaces: Bool, mode: AtomicFile.Mode
    ) throws(JPEGError) {
        try check(path, replaces: replaces)
        do throws(SystemError) {
            let file = try AtomicFile.make(for: path, mode: mode, replaces: replaces)
            try file.append(bytes)
            try file.synchronize()
            if replaces { try file.replace(path) } else { try file.link(to: path) }
        } catch {
            if error.number == EEXIST { throw exists(path) }
            throw JPEGError(.fileNotWritable, "Could not write \(path): \(error.text).")
        }
    }

    static func read(_ path: String, upTo limit: Int) throws(JPEGError) -> [UInt8] {
        // Without O_NONBLOCK, opening a pipe would wait for a writer that may never come.
        let descriptor = unsafe SystemPath.with(path) { unsafe open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { throw failure(path, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw failure(path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw JPEGError(.notARegularFile, "\(path) is not a regular file. Use the path of an image file.")
        }
        guard status.st_size <= limit else {
            throw JPEGError(
                .tooManyBytes, "\(path) has \(status.st_size) bytes; the limit is \(limit) bytes. Save a smaller image."
            )
        }
        return try contents(of: descriptor, path, size: Int(status.st_size))
    }

    private static func contents(of descriptor: Int32, _ path: String, size: Int) throws(JPEGError) -> [UInt8] {
        var problem: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < buffer.count {
                let got = unsafe Glibc.read(descriptor, buffer.baseAddress! + count, buffer.count - count)
                if got < 0, errno == EINTR { continue }
                if got < 0 { problem = errno }
                guard got > 0 else { return }
                count += got
            }
        }
        guard problem == 0 else { throw failure(path, problem) }
        return bytes
    }

    private static func exists(_ path: String) -> JPEGError {
        JPEGError(.fileExists, "\(path) exists. Choose another path, or allow replacing it.")
    }

    private static func failure(_ path: String, _ number: Int32) -> JPEGError {
        let code: JPEGError.Code = number == ENOENT || number == ENOTDIR ? .fileNotFound : .fileNotReadable
        return JPEGError(code, "Could not read \(path): \(SystemError(number).text).")
    }
}
