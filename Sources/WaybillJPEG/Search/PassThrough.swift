/// Keeps the coefficients of a picture that fits: the file is re-written without metadata, smaller and upright, and
/// not one pixel changes.
struct PassThrough {
    let source: PictureSource
    let input: [UInt8]
    let header: JPEGHeader
    let mode: JPEGOptions.Mode
    let flag: StopFlag

    /// Whether the kind of picture and its orientation allow it.
    ///
    /// Turning is exact when each mirrored side is a whole number of MCUs; else the partial ones would come first.
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
        // Reading and writing once takes 20 ms a megapixel; four scripts are for small pictures.
        let scripts: [ScanScript] = mode == .best && input.count <= 1_000_000 ? ScanScript.allCases : [.split]
        var smallest: [UInt8]?
        for script in scripts {
            var strayBytes = 0
            let bytes = try JPEGWriter.transcode(
                input, orientation: header.orientation, script: script, flag: flag, strayBytes: &strayBytes)
            source.note(strayBytes: strayBytes)
            if bytes.count < smallest?.count ?? .max { smallest = bytes }
        }
        if let smallest, smallest.count <= input.count { return smallest }
        // An odd file that was coded better than we can: cut its metadata out and leave the rest.
        guard header.orientation == 1, let stripped = MetadataStripper.strip(input, header),
            stripped.count <= input.count
        else {
            return nil
        }
        return stripped
    }
}
