import CWaybillJPEG

/// Decodes an image and scales it at the same time. Rows are passed from the source to the resamplers, so a large
/// original is never completely in memory.
struct ImageLoader {
    let source: ImageSource
    let isLinear: Bool
    let flag: CancellationFlag

    /// The number of pixels above which planes store 8-bit samples without fractional bits, which halves their memory.
    /// Larger images are scaled down further or quantized more coarsely afterwards, so quality is not measurably worse.
    static let largestFine = 2.5e6

    /// Decodes to a size in the upright orientation. libjpeg decodes at `eighths` of the full size: 8, or 4 or
    /// 2 for speed.
    func load(_ size: PixelSize, eighths: Int) throws(JPEGError) -> DecodedImage {
        let stored = size.turned(source.orientation)
        let isLarge = size.pixels > Self.largestFine
        var planes: [Plane] = []
        try unsafe stream(stored, eighths: eighths) { resamplers in
            planes = resamplers.map {
                Plane(width: $0.outputWidth, height: $0.outputHeight, isFine: !$0.isIdentity && !isLarge)
            }
        } emit: { index, row, number in
            unsafe planes[index].store(row, at: number)
        }
        for index in planes.indices { planes[index] = planes[index].turned(source.orientation) }
        var image = DecodedImage(luma: planes[0], chroma: Array(planes.dropFirst()))
        if let conversion = source.conversion { image = conversion.convert(image) }
        if !image.chroma.contains(where: { !$0.isNeutral }) { image.chroma = [] }
        return image
    }

    /// Decodes to a size in the stored orientation. Calls `begin` with the resamplers of the planes, then `emit` with
    /// each finished row. The rows of a plane are in order; rows of different planes are interleaved.
    func stream(
        _ size: PixelSize, eighths: Int, begin: ([PlaneResampler]) throws(JPEGError) -> Void,
        emit: (_ plane: Int, _ row: UnsafePointer<Float>, _ number: Int) -> Void
    ) throws(JPEGError) {
        try source.withRows(eighths: eighths, flag: flag) { rows throws(JPEGError) in
            let resamplers = rows.shapes.enumerated().map { resampler($0.offset, $0.element, size) }
            try begin(resamplers)
            while try rows.read() {
                for (index, resampler) in resamplers.enumerated() {
                    unsafe rows.forEachRow(of: index) { row in
                        unsafe resampler.push(row) { unsafe emit(index, $0, $1) }
                    }
                }
            }
        }
    }

    private func resampler(_ index: Int, _ shape: wb_jpeg_plane_shape, _ size: PixelSize) -> PlaneResampler {
        // Chroma samples of 4:2:0 are centered on 2 x 2 pixels.
        let pitch = index == 0 ? 1 : 2
        let horizontal = plan(
            Int(shape.width), shape.pitch_x, full: source.stored.width, to: size.width, pitch,
            isMirrored: [2, 3, 7, 8].contains(source.orientation), tapsMultipleOf: 4)
        let vertical = plan(
            Int(shape.height), shape.pitch_y, full: source.stored.height, to: size.height, pitch,
            isMirrored: [3, 4, 6, 7].contains(source.orientation), tapsMultipleOf: 1)
        return PlaneResampler(
            horizontal: horizontal, vertical: vertical, depth: .bytes, isLinear: isLinear && index == 0)
    }

    /// Positions the output samples of one axis, `pitch` pixels of the new image apart, over the decoded samples, which
    /// are `samplePitch` full-size pixels apart.
    ///
    /// With an odd length, the last chroma sample extends beyond the edge of the image. A mirrored axis is reversed
    /// later, which would move that sample before the first pixel. Its samples are therefore positioned for the
    /// reversed image.
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
