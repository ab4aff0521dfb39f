import Foundation

/// The width and height in the frame header of a JPEG file (ITU-T T.81, section B.2.2).
struct JPEGSize: Equatable {
    let width: Int
    let height: Int

    /// Reads the markers of a file up to its frame header. Returns `nil` if it is not a JPEG file.
    ///
    /// - Parameter path: The path of the file.
    /// - Throws: An error if the file cannot be read.
    init?(file path: String) throws {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw ReceiverError("A stored file cannot be read.")
        }
        defer { try? file.close() }
        guard try file.read(upToCount: 2) == Data([0xFF, 0xD8]) else { return nil }
        while let marker = try file.read(upToCount: 4), marker.count == 4, marker[0] == 0xFF {
            let length = Int(marker[2]) << 8 | Int(marker[3])
            let code = marker[1]
            // SOF0…SOF15 without DHT, JPG and DAC.
            if (0xC0...0xCF).contains(code), ![0xC4, 0xC8, 0xCC].contains(code) {
                guard let frame = try file.read(upToCount: 5), frame.count == 5 else { return nil }
                height = Int(frame[1]) << 8 | Int(frame[2])
                width = Int(frame[3]) << 8 | Int(frame[4])
                return
            }
            guard length >= 2, code != 0xDA else { return nil }
            try file.seek(toOffset: try file.offset() + UInt64(length - 2))
        }
        return nil
    }
}
