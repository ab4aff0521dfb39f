import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite struct OrientationTests {
    /// How an image is made upright: without loss, at a quality, below a limit, below a limit for documents.
    enum Strategy: CaseIterable { case kept, quality, limit, document }

    static let strategies = Strategy.allCases.flatMap { strategy in JPEGOptions.Mode.allCases.map { (strategy, $0) } }

    @Test(arguments: 1...8, strategies)
    func `every orientation becomes upright in every mode`(orientation: Int, strategy: (Strategy, JPEGOptions.Mode))
        throws
    {
        // Complete MCUs, so that keeping coefficients is exact in all eight orientations.
        let (width, height) = (96, 64)
        let scene = Scene.quarters(width, height)
        let file = Self.stored(width, height, orientation, scene)
        let options =
            switch strategy.0 {
            case .kept: JPEGOptions(mode: strategy.1)
            case .quality: JPEGOptions(quality: 92, mode: strategy.1)
            case .limit: JPEGOptions(maxBytes: .bytes(1_000), maxPixels: 6_000, mode: strategy.1)
            case .document: JPEGOptions(maxBytes: .bytes(1_000), maxSide: 95, mode: strategy.1, isDocument: true)
            }
        let result = try recompress(file, options)
        #expect(result.report.isPassedThrough == (strategy.0 == .kept))
        #expect(result.report.orientation == orientation)
        #expect(result.report.originalWidth == width && result.report.originalHeight == height)
        try Self.expectQuarters(result)
    }

    @Test(arguments: 1...8)
    func `odd sides are rotated without shifting colors`(orientation: Int) throws {
        let (width, height) = (61, 45)
        let scene: (Int, Int) -> RGBColor = { x, y in
            RGBColor(red: 40 + 3 * x, green: 120, blue: 230 - 4 * y)
        }
        let file = Self.stored(width, height, orientation, scene)
        let seen = try DecodedPixels(try recompress(file, JPEGOptions(quality: 98, maxPixels: 10_000)).bytes)
        #expect(seen.header.width == width && seen.header.height == height)
        // A shift by one pixel would be 1.3 in Cr and 2 in Cb; rounding accounts for 0.7.
        let upright = try DecodedPixels(Self.stored(width, height, 1, scene))
        for (index, plane) in seen.picture.chroma.enumerated() {
            var bias = 0.0
            for y in 2..<plane.height - 2 {
                for x in 2..<plane.width - 2 { bias += plane[x, y] - upright.picture.chroma[index][x, y] }
            }
            #expect(abs(bias / Double((plane.width - 4) * (plane.height - 4))) < 0.4)
        }
    }

    @Test func `an image with a mirrored partial MCU is decoded instead of transcoded`() throws {
        let file = Self.stored(60, 44, 3, Scene.quarters(60, 44))
        let result = try recompress(file, JPEGOptions())
        #expect(!result.report.isPassedThrough)
        #expect(result.bytes.count <= file.count)
        try Self.expectQuarters(result)
    }

    /// Expects the center of each quarter to have the color of that quarter.
    static func expectQuarters(_ result: JPEGResult) throws {
        let seen = try DecodedPixels(result.bytes)
        let (width, height) = (seen.header.width, seen.header.height)
        let scene = Scene.quarters(width, height)
        for (x, y) in [(1, 1), (3, 1), (1, 3), (3, 3)] {
            let (column, row) = (x * width / 4, y * height / 4)
            for (seen, wanted) in zip(seen.yCbCr(column, row), scene(column, row).yCbCr) {
                #expect(abs(seen - Double(wanted)) < 14, "at \(column), \(row)")
            }
        }
    }

    /// Returns a file that shows `scene` when rotated according to its Exif orientation (Exif 2.32, 4.6.4 A).
    static func stored(
        _ width: Int, _ height: Int, _ orientation: Int, _ scene: @escaping (Int, Int) -> RGBColor
    ) -> [UInt8] {
        let (across, down) = orientation >= 5 ? (height, width) : (width, height)
        let exif = TinyJPEG.exif(orientation: UInt16(orientation))
        return Scene.file(across, down, segments: [exif], storedScene(width, height, orientation, scene))
    }

    /// Returns the pixels as stored, so that they show `scene` when rotated.
    static func storedScene(
        _ width: Int, _ height: Int, _ orientation: Int, _ scene: @escaping (Int, Int) -> RGBColor
    ) -> (Int, Int) -> RGBColor {
        let (across, down) = orientation >= 5 ? (height, width) : (width, height)
        return { column, row in
            let (right, bottom) = (across - 1 - column, down - 1 - row)
            switch orientation {
            case 2: return scene(right, row)
            case 3: return scene(right, bottom)
            case 4: return scene(column, bottom)
            case 5: return scene(row, column)
            case 6: return scene(bottom, column)
            case 7: return scene(bottom, right)
            case 8: return scene(row, right)
            default: return scene(column, row)
            }
        }
    }
}
