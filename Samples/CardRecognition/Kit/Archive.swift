import Foundation
import Glibc

/// Where recognised pictures are kept: for their owner alone, and whole or not at all.
struct Archive: Sendable {
    let folder: String

    /// Saves a side.
    ///
    /// - Returns: Where it lies.
    func save(_ image: [UInt8], business: String, side: Side) throws -> String {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // A number that comes from elsewhere is no path.
        let name = business.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
        let path = "\(folder)/\(String(name))-\(side.rawValue).jpg"
        let draft = "\(folder)/.\(UUID().uuidString)"
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw CocoaError(.fileWriteNoPermission, userInfo: [NSFilePathErrorKey: draft]) }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        do {
            try handle.write(contentsOf: Data(image))
            try handle.synchronize()
            guard rename(draft, path) == 0 else {
                throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path])
            }
        } catch {
            unlink(draft)
            throw error
        }
        return path
    }
}
