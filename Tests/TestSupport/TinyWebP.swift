import CTestSupport

/// Writes WebP files: the image data by libwebp, the container byte for byte.
package enum TinyWebP {
    /// Returns a file of RGB or RGBA pixels.
    package static func file(
        _ width: Int, _ height: Int, channels: Int, pixels: [UInt8], isLossless: Bool
    ) -> [UInt8] {
        precondition(pixels.count == width * height * channels)
        var count = 0
        let start = unsafe cts_webp_encode(
            pixels, Int32(width), Int32(height), Int32(channels), isLossless ? 1 : 0, &count)
        defer { unsafe cts_webp_free(start) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: count))
    }

    /// Returns the pixels as libwebp decodes them in one call.
    package static func pixels(of file: [UInt8], channels: Int) -> [UInt8] {
        var (width, height): (Int32, Int32) = (0, 0)
        let start = unsafe cts_webp_decode(file, file.count, Int32(channels), &width, &height)
        defer { unsafe cts_webp_free(start) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(width) * Int(height) * channels))
    }

    /// Returns an extended file (VP8X) with metadata around the image data of a simple file.
    package static func extended(
        _ simple: [UInt8], _ width: Int, _ height: Int, profile: [UInt8]? = nil, exif: [UInt8]? = nil,
        xmp: [UInt8]? = nil
    ) -> [UInt8] {
        let flags: UInt8 = (profile == nil ? 0 : 0x20) | (exif == nil ? 0 : 0x08) | (xmp == nil ? 0 : 0x04)
        return riff(
            header(flags, width, height) + (profile.map { chunk("ICCP", $0) } ?? []) + imageData(simple)
                + (exif.map { chunk("EXIF", $0) } ?? []) + (xmp.map { chunk("XMP ", $0) } ?? []))
    }

    /// Returns an animation of simple files of the same size.
    package static func animation(_ frames: [[UInt8]], _ width: Int, _ height: Int) -> [UInt8] {
        let control = chunk("ANIM", [255, 255, 255, 255, 0, 0])
        return riff(
            header(0x02, width, height) + control
                + frames.flatMap { frame in
                    let place = [0, 0, 0, 0, 0, 0] + three(width - 1) + three(height - 1) + three(100) + [0]
                    return chunk("ANMF", place + imageData(frame))
                })
    }

    private static func header(_ flags: UInt8, _ width: Int, _ height: Int) -> [UInt8] {
        chunk("VP8X", [flags, 0, 0, 0] + three(width - 1) + three(height - 1))
    }

    /// The chunks after the 12 bytes of the RIFF header.
    private static func imageData(_ simple: [UInt8]) -> ArraySlice<UInt8> { simple.dropFirst(12) }

    private static func riff(_ chunks: [UInt8]) -> [UInt8] {
        Array("RIFF".utf8) + four(chunks.count + 4) + Array("WEBP".utf8) + chunks
    }

    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        Array(name.utf8) + four(data.count) + data + (data.count % 2 == 1 ? [0] : [])
    }

    private static func three(_ value: Int) -> [UInt8] { (0..<3).map { UInt8(value >> (8 * $0) & 255) } }
    private static func four(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(value >> (8 * $0) & 255) } }
}
