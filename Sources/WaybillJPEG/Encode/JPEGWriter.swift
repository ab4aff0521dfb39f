import CWaybillJPEG

/// The distribution of coefficients over scans. The smallest variant depends on the image.
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

/// Writes files: progressive, with optimized Huffman tables, without metadata.
enum JPEGWriter {
    static func write(_ image: QuantisedImage, _ source: CoefficientImage, script: ScanScript, flag: CancellationFlag)
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
        var status = wb_jpeg_status()
        var bytes = unsafe wb_jpeg_bytes()
        _ = unsafe wb_jpeg_write(
            Int32(image.width), Int32(image.height), components, Int32(components.count), image.table.natural,
            script.raw, flag.raw, &bytes, &status)
        return try unsafe takeBytes(bytes, status)
    }

    /// Rewrites the same coefficients as a smaller file: progressive, without metadata, upright.
    ///
    /// - Returns: The file, or `nil` if a coefficient is out of the range that libjpeg writes. It can be decoded.
    static func transcode(
        _ input: [UInt8], orientation: Int, script: ScanScript, flag: CancellationFlag, defects: inout ToleratedDefects
    ) throws(JPEGError) -> [UInt8]? {
        var status = wb_jpeg_status()
        var bytes = unsafe wb_jpeg_bytes()
        _ = unsafe wb_jpeg_transcode(
            input, input.count, Int32(orientation), script.raw, JPEGBounds.scans, JPEGBounds.decoderMemory, flag.raw,
            &bytes, &status)
        defects.formUnion(ToleratedDefects(status))
        if Int(status.outcome) == wb_jpeg_not_writable { return nil }
        return try unsafe takeBytes(bytes, status)
    }

    /// Returns the bytes written by C, or throws the error.
    static func takeBytes(_ bytes: wb_jpeg_bytes, _ status: wb_jpeg_status) throws(JPEGError) -> [UInt8] {
        defer { unsafe wb_jpeg_bytes_free(bytes) }
        guard Int(status.outcome) == wb_jpeg_ok else {
            throw JPEGError(status)
        }
        if let damage = JPEGError(damageIn: status) { throw damage }
        return unsafe Array(UnsafeBufferPointer(start: bytes.start, count: bytes.count))
    }
}
