import Foundation
import Glibc

/// A directory of recognized images. Files are readable by their owner only and appear when they are complete.
struct Archive: Sendable {
    let directory: String

    /// Saves the image of a side.
    ///
    /// - Returns: The path of the file.
    func save(_ image: [UInt8], business: String, side: Side) throws -> String {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // The number is external input: replace all characters that could form a path.
        let name = business.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
        let path = "\(directory)/\(String(name))-\(side.rawValue).jpg"
        let draft = "\(directory)/.\(UUID().uuidString)"
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
