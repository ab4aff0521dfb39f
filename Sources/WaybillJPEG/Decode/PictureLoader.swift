import CWaybillJPEG

/// Decodes a file straight into a picture of another size: rows go from libjpeg into the resamplers, so a large
/// original is never in memory as a whole.
struct PictureLoader {
    let bytes: [UInt8]
    let header: JPEGHeader
    let isLinear: Bool
    let flag: StopFlag

    /// Decodes to `width` x `height` in the file's own orientation, and gives the picture upright. libjpeg decodes at
    /// `eighths` of the full size: 8, or 4 for speed.
    func load(width: Int, height: Int, eighths: Int) throws(JPEGError) -> Picture {
        var planes: [Plane] = []
        do {
            try unsafe bytes.withUnsafeBufferPointer { buffer throws(JPEGError) in
                let decoder = try unsafe Decoder(buffer, eighths: eighths, flag: flag)
                let lines = decoder.shapes.enumerated().map { line($0.offset, $0.element, width, height) }
                planes = lines.map(\.plane)
                while try decoder.read() {
                    for (index, line) in lines.enumerated() {
                        unsafe decoder.forEachRow(of: index) { row in
                            unsafe line.resampler.push(row) { unsafe line.plane.store($0, at: $1) }
                        }
                    }
                }
            }
        }
        for index in planes.indices { planes[index] = planes[index].turned(header.orientation) }
        let chroma = planes.dropFirst().contains { !$0.isNeutral } ? Array(planes.dropFirst()) : []
        return Picture(luma: planes[0], chroma: chroma)
    }

    private func line(
        _ index: Int, _ shape: wb_jpeg_plane_shape, _ width: Int, _ height: Int
    ) -> (resampler: PlaneResampler, plane: Plane) {
        // Chroma samples of 4:2:0 lie in the middle of 2 x 2 pixels.
        let pitch = index == 0 ? 1 : 2
        let horizontal = plan(
            Int(shape.width), shape.pitch_x, full: header.width, to: width, pitch,
            isMirrored: [2, 3, 7, 8].contains(header.orientation), tapsMultipleOf: 4)
        let vertical = plan(
            Int(shape.height), shape.pitch_y, full: header.height, to: height, pitch,
            isMirrored: [3, 4, 6, 7].contains(header.orientation), tapsMultipleOf: 1)
        let isUntouched = horizontal.isIdentity && vertical.isIdentity
        return (
            PlaneResampler(
                horizontal: horizontal, vertical: vertical, depth: .bytes, isLinear: isLinear && index == 0),
            Plane(width: horizontal.outputCount, height: vertical.outputCount, isFine: !isUntouched)
        )
    }

    /// Places the new samples of one axis, `pitch` pixels of the new picture apart, over the decoded ones, which are
    /// `samplePitch` full-size pixels apart.
    ///
    /// A mirrored axis will be turned round: a last chroma sample that hangs over an odd edge would then hang over the
    /// first, so the samples are placed for the turned picture.
    private func plan(
        _ samples: Int, _ samplePitch: Double, full: Int, to length: Int, _ pitch: Int, isMirrored: Bool,
        tapsMultipleOf multiple: Int
    ) -> ResamplingPlan {
        let count = (length + pitch - 1) / pitch
        let ratio = Double(full) / Double(length) / samplePitch
        let shift = isMirrored ? Double(length - count * pitch) : 0
        return ResamplingPlan(
            inputCount: samples, outputCount: count, step: Double(pitch) * ratio, offset: shift * ratio,
            tapsMultipleOf: multiple)
    }
}
