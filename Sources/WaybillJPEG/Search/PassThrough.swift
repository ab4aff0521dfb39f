/// Keeps the coefficients of an image that fits: the file is rewritten smaller, upright and without metadata, and no
/// pixel changes.
struct PassThrough {
    let source: ImageSource
    let input: [UInt8]
    let header: JPEGHeader
    let mode: JPEGOptions.Mode
    let flag: CancellationFlag

    /// Whether the color model and orientation of the image allow it.
    ///
    /// Rotation is lossless only if each mirrored side is a whole number of MCUs; partial MCUs would come first.
    var isPossible: Bool {
        guard header.colorModel == .grey || header.colorModel == .yCbCr else { return false }
        let isSingle = header.components.count == 1
        let across = isSingle ? 8 : 8 * (header.components.map(\.horizontalSampling).max() ?? 1)
        let down = isSingle ? 8 : 8 * (header.components.map(\.verticalSampling).max() ?? 1)
        if [2, 3, 7, 8].contains(header.orientation), header.width % across != 0 { return false }
        if [3, 4, 6, 7].contains(header.orientation), header.height % down != 0 { return false }
        return true
    }

    /// - Returns: The smallest file with the input's coefficients that is no larger than the input, or `nil`.
    func run() throws(JPEGError) -> [UInt8]? {
        guard isPossible else { return nil }
        // Reading and writing takes 20 ms per megapixel; trying four scripts is feasible only for small images.
        let scripts: [ScanScript] = mode == .best && input.count <= 1_000_000 ? ScanScript.allCases : [.split]
        var smallest: [UInt8]?
        for script in scripts {
            let written = try JPEGWriter.transcode(
                input, orientation: header.orientation, script: script, flag: flag, defects: &source.defects)
            guard let bytes = written else { return nil }
            if bytes.count < smallest?.count ?? .max { smallest = bytes }
        }
        if let smallest, smallest.count <= input.count { return smallest }
        // The input was coded more efficiently than this encoder can do: only remove its metadata. Stray bytes would
        // remain in its data.
        guard header.orientation == 1, source.defects.strayBytes == 0,
            let stripped = MetadataStripper.strip(input, header),
            stripped.count <= input.count
        else {
            return nil
        }
        return stripped
    }
}
