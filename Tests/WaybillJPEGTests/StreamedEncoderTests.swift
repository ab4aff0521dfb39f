import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

/// Encoding while decoding, which large images with a quality use, tested with small ones.
@Suite struct StreamedEncoderTests {
    @Test(arguments: [(240, 180), (33, 300), (1, 1), (257, 129)])
    func `without trellis a streamed file is identical`(width: Int, height: Int) throws {
        let file = Scene.file(width, height, Scene.photo(width, height))
        let options = JPEGOptions(quality: 60, mode: .draft)
        #expect(try Self.encoded(file, options, isStreamed: true) == Self.encoded(file, options, isStreamed: false))
    }

    @Test func `with trellis a streamed file has the same size and similarity`() throws {
        let scene = Scene.photo(240, 320)
        let file = Scene.file(240, 320, scene)
        for quality in [30, 75, 92] {
            let options = JPEGOptions(quality: quality, mode: .fast)
            let streamed = try Self.encoded(file, options, isStreamed: true)
            let whole = try Self.encoded(file, options, isStreamed: false)
            let share = Double(streamed.count) / Double(whole.count)
            #expect(abs(share - 1) < 0.02)
            let (one, other) = (
                try DecodedPixels(streamed).lumaDistance(to: scene), try DecodedPixels(whole).lumaDistance(to: scene)
            )
            let distance: Double = one / other
            #expect(abs(distance - 1) < 0.03)
        }
    }

    @Test(arguments: 1...8, [false, true])
    func `every orientation and gamut becomes upright with its colors`(orientation: Int, isWide: Bool) throws {
        let (width, height) = (75, 51)
        let stored = OrientationTests.stored(width, height, orientation, Scene.quarters(width, height))
        let file = isWide ? Array(stored[..<2]) + GamutTests.displayP3.profile + stored[2...] : stored
        let options = JPEGOptions(quality: 92, mode: .fast)
        let streamed = try DecodedPixels(try Self.encoded(file, options, isStreamed: true))
        let whole = try DecodedPixels(try Self.encoded(file, options, isStreamed: false))
        #expect(streamed.header.width == width && streamed.header.height == height)
        for (x, y) in [(5, 5), (60, 8), (9, 44), (70, 48)] {
            for (one, other) in zip(streamed.yCbCr(x, y), whole.yCbCr(x, y)) { #expect(abs(one - other) < 6) }
        }
    }

    @Test func `a file above the limit is abandoned, and the limit is met`() throws {
        for limit in [500, 2_000, 6_000, 12_000] {
            let options = JPEGOptions(maxBytes: .bytes(Int64(limit)), quality: 80, mode: .fast)
            let bytes = try Self.encoded(Scene.photoFile, options, isStreamed: true)
            #expect(bytes.count <= limit)
        }
    }

    @Test func `a set flag stops the encoder`() throws {
        let flag = CancellationFlag()
        let encoder = try StreamedEncoder(
            PixelSize(width: 64, height: 64), componentCount: 1, factor: 1, quantiser: Quantiser(usesTrellis: true),
            limit: 100_000, flag: flag)
        flag.set()
        let error = #expect(throws: JPEGError.self) { try encoder.finish() }
        #expect(error?.code == .cancelled)
    }

    private static func encoded(_ file: [UInt8], _ options: JPEGOptions, isStreamed: Bool) throws -> [UInt8] {
        let source = ImageSource(file, try JPEGHeader(parsing: file))
        return try Encoding(
            source: source, options: options, flag: CancellationFlag(), streamedPixels: isStreamed ? 0 : .infinity
        ).make().bytes
    }
}
