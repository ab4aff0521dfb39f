import CWaybillJPEG

/// Converts colors of a wide gamut to sRGB, so that they look right in programs that ignore profiles.
///
/// Colors outside sRGB are clipped per channel, like the relative colorimetric intent of color management systems.
@safe struct GamutConversion: Sendable {
    private let linear: [Float]
    private let encoded: [Float]
    private let matrix: [Float]

    private static let linearCount = 2_049
    private static let encodedSteps = 16_384

    /// Creates a conversion; `nil` if the profile is already sRGB.
    init?(_ profile: MatrixProfile) {
        guard !profile.isSRGB else { return nil }
        linear = profile.curves.flatMap { curve in
            (0..<Self.linearCount).map { Float(curve.light(of: min(1, Double($0) / 8 / 255))) }
        }
        encoded = (0...Self.encodedSteps).map { Float(255 * SRGB.value(of: Double($0) / Double(Self.encodedSteps))) }
        matrix = profile.lightToSRGB.flatMap { $0.map { Float($0) } }
    }

    /// Converts an image of 4:2:0 planes. A profile of primaries does not apply to a gray image, which is unchanged.
    func convert(_ image: DecodedImage) -> DecodedImage {
        guard image.chroma.count == 2 else { return image }
        let (width, across) = (image.width, image.chroma[0].width)
        // Convert a large image in place: rows are read before they are written.
        let planes = ([image.luma] + image.chroma).map { plane in
            Double(width) * Double(image.height) > ImageLoader.largestFine
                ? plane : Plane(width: plane.width, height: plane.height, isFine: true)
        }
        let (upper, lower) = (Samples<Float>(count: width), Samples<Float>(count: width))
        let (blue, red) = (Samples<Float>(count: across), Samples<Float>(count: across))
        for row in 0..<image.chroma[0].height {
            let hasLower = 2 * row + 1 < image.height
            unsafe image.luma.read(2 * row, into: upper.start)
            if hasLower { unsafe image.luma.read(2 * row + 1, into: lower.start) }
            unsafe image.chroma[0].read(row, into: blue.start)
            unsafe image.chroma[1].read(row, into: red.start)
            unsafe convert(upper.start, hasLower ? lower.start : nil, width, blue.start, red.start)
            unsafe planes[0].store(upper.start, at: 2 * row)
            if hasLower { unsafe planes[0].store(lower.start, at: 2 * row + 1) }
            unsafe planes[1].store(blue.start, at: row)
            unsafe planes[2].store(red.start, at: row)
        }
        return DecodedImage(luma: planes[0], chroma: [planes[1], planes[2]])
    }

    private func convert(
        _ upper: UnsafeMutablePointer<Float>, _ lower: UnsafeMutablePointer<Float>?, _ width: Int,
        _ blue: UnsafeMutablePointer<Float>, _ red: UnsafeMutablePointer<Float>
    ) {
        unsafe linear.withUnsafeBufferPointer { linear in
            unsafe encoded.withUnsafeBufferPointer { encoded in
                let rows = (
                    matrix[0], matrix[1], matrix[2], matrix[3], matrix[4], matrix[5], matrix[6], matrix[7], matrix[8]
                )
                var gamut = unsafe wb_jpeg_gamut(
                    linear: linear.baseAddress!, encoded: encoded.baseAddress!, matrix: rows)
                unsafe wb_jpeg_convert_gamut(upper, lower, Int32(width), blue, red, &gamut)
            }
        }
    }
}
