import CWaybillJPEG

/// How the coefficients are spread over scans. Which order is smallest depends on the picture.
enum ScanScript: CaseIterable {
    case split, plain, wide, library

    var raw: Int32 {
        switch self {
        case .split: Int32(wb_jpeg_script_split)
        case .plain: Int32(wb_jpeg_script_plain)
        case .wide: Int32(wb_jpeg_script_wide)
        case .library: Int32(wb_jpeg_script_library)
        }
    }
}

/// Writes files: progressive, Huffman tables made for the picture, no metadata.
enum JPEGWriter {
    static func write(_ image: LevelImage, _ source: FrequencyImage, script: ScanScript, flag: StopFlag)
        throws(JPEGError)
        -> [UInt8]
    {
        let isGrey = source.components.count == 1
        let components = unsafe zip(source.components, image.levels).map { component, levels in
            let sampling: Int32 = component.tableClass == 0 && !isGrey ? 2 : 1
            return unsafe wb_jpeg_component(
                levels: levels.start, blocks_across: Int32(component.blocksAcross),
                blocks_down: Int32(component.blocksDown), horizontal: sampling, vertical: sampling)
        }
        var trouble = wb_jpeg_trouble()
        var bytes = unsafe wb_jpeg_bytes()
        _ = unsafe wb_jpeg_write(
            Int32(image.width), Int32(image.height), components, Int32(components.count), image.table.natural,
            script.raw, flag.raw, &bytes, &trouble)
        return try unsafe take(bytes, trouble)
    }

    /// The same coefficients in a smaller file: progressive, without metadata, turned upright.
    static func transcode(
        _ input: [UInt8], orientation: Int, script: ScanScript, flag: StopFlag, strayBytes: inout Int
    ) throws(JPEGError) -> [UInt8] {
        var trouble = wb_jpeg_trouble()
        var bytes = unsafe wb_jpeg_bytes()
        _ = unsafe wb_jpeg_transcode(
            input, input.count, Int32(orientation), script.raw, JPEGBounds.scans, JPEGBounds.decoderMemory, flag.raw,
            &bytes, &trouble)
        strayBytes = Int(trouble.stray_bytes)
        return try unsafe take(bytes, trouble)
    }

    /// Takes what C wrote, or says what went wrong.
    static func take(_ bytes: wb_jpeg_bytes, _ trouble: wb_jpeg_trouble) throws(JPEGError) -> [UInt8] {
        defer { unsafe wb_jpeg_bytes_free(bytes) }
        guard Int(trouble.outcome) == wb_jpeg_fine else {
            throw JPEGError(writing: trouble)
        }
        if let damage = JPEGError(damageIn: trouble) { throw damage }
        return unsafe Array(UnsafeBufferPointer(start: bytes.start, count: bytes.count))
    }
}

extension JPEGError {
    /// Translates what the C side reports while it writes: running out of memory there has no decoder's bound to blame.
    init(writing trouble: wb_jpeg_trouble) {
        if Int(trouble.outcome) == wb_jpeg_memory_exceeded, trouble.code == 0 {
            self.init(.outOfMemory, "There is not enough memory to write the picture.")
        } else {
            self.init(trouble)
        }
    }
}
