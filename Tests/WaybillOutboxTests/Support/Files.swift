import Glibc
import TestSupport

extension TemporaryDirectory {
    /// Replaces a file with a new one.
    func replace(_ name: String, with text: String) throws {
        let new = try write(name + ".new", text)
        guard unsafe rename(new, path(name)) == 0 else { throw FileOperationError(number: errno) }
    }

    func size(_ name: String) throws -> Int {
        var status = stat()
        guard unsafe stat(path(name), &status) == 0 else { throw FileOperationError(number: errno) }
        return Int(status.st_size)
    }

    struct FileOperationError: Error {
        let number: Int32
    }

    func remove(_ name: String) {
        unsafe unlink(path(name))
    }
}
