import Foundation

/// The width and the height that a JPEG file states (ITU-T T.81, section B.2.2).
struct JPEGSize: Equatable {
    let width: Int
    let height: Int

    /// Reads the markers of a file up to its frame header; `nil` when it is not a JPEG file.
    ///
    /// - Parameter path: The file.
    /// - Throws: When it can't be read.
    init?(file path: String) throws {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw ReceiverError("a stored file can't be read")
        }
        defer { try? file.close() }
        guard try file.read(upToCount: 2) == Data([0xFF, 0xD8]) else { return nil }
        while let marker = try file.read(upToCount: 4), marker.count == 4, marker[0] == 0xFF {
            let length = Int(marker[2]) << 8 | Int(marker[3])
            let kind = marker[1]
            // SOF0…SOF15 without DHT, JPG and DAC, which lie between.
            if (0xC0...0xCF).contains(kind), ![0xC4, 0xC8, 0xCC].contains(kind) {
                guard let frame = try file.read(upToCount: 5), frame.count == 5 else { return nil }
                height = Int(frame[1]) << 8 | Int(frame[2])
                width = Int(frame[3]) << 8 | Int(frame[4])
                return
            }
            guard length >= 2, kind != 0xDA else { return nil }
            try file.seek(toOffset: try file.offset() + UInt64(length - 2))
        }
        return nil
    }
}
