import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite struct ColourTests {
    static let (width, height) = (64, 48)

    @Test(arguments: [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (4, 2)])
    func `every sampling decodes to the same colours`(horizontal: Int, vertical: Int) throws {
        let scene = Scene.quarters(Self.width, Self.height)
        let file = Scene.file(Self.width, Self.height, sampling: (horizontal, vertical), scene)
        let result = try recompress(file, JPEGOptions(quality: 90, maxPixels: 3_000))
        #expect(!result.report.isPassedThrough)
        try OrientationTests.expectQuarters(result)
        #expect(try JPEGHeader(parsing: result.bytes).components.map(\.horizontalSampling) == [2, 1, 1])
    }

    @Test func `grey stays one component`() throws {
        let file = BadInputTests.grey(40, 24)
        for options in [JPEGOptions(), JPEGOptions(quality: 90), JPEGOptions(maxBytes: .bytes(600), mode: .fast)] {
            let seen = try Seen(try recompress(file, options).bytes)
            #expect(seen.header.components.count == 1)
            #expect(seen.picture.chroma.isEmpty)
        }
    }

    @Test func `colour that is grey everywhere is written as grey`() throws {
        let file = Scene.file(Self.width, Self.height) { x, y in
            let value = (x * 3 + y * 2) % 256
            return Colour(red: value, green: value, blue: value)
        }
        let result = try recompress(file, JPEGOptions(quality: 80, maxPixels: 3_000))
        #expect(try JPEGHeader(parsing: result.bytes).components.count == 1)
    }

    @Test func `a file that stores RGB comes out in the same colours`() throws {
        let scene = Scene.quarters(Self.width, Self.height)
        let file = stored(
            segments: [TinyJPEG.adobe(transform: 0)],
            [
                { scene($0, $1).red }, { scene($0, $1).green }, { scene($0, $1).blue },
            ])
        try OrientationTests.expectQuarters(try recompress(file, JPEGOptions(quality: 90)))
    }

    @Test(arguments: [true, false])
    func `four inks become colours, Adobe's upside down`(isAdobe: Bool) throws {
        let scene = Scene.quarters(Self.width, Self.height)
        let flip = isAdobe ? 0 : 255
        // With no black, what an ink leaves is the colour itself.
        let file = stored(
            segments: isAdobe ? [TinyJPEG.adobe(transform: 0)] : [],
            [
                { scene($0, $1).red ^ flip }, { scene($0, $1).green ^ flip }, { scene($0, $1).blue ^ flip },
                { _, _ in 255 ^ flip },
            ])
        let result = try recompress(file, JPEGOptions(quality: 90))
        try OrientationTests.expectQuarters(result)
        #expect(try JPEGHeader(parsing: result.bytes).components.count == 3)
    }

    @Test func `inks stored as YCCK become colours`() throws {
        let scene = Scene.quarters(Self.width, Self.height)
        // YCCK is the YCbCr of the complement; Adobe's inks are stored as complements already.
        func complement(_ index: Int) -> (Int, Int) -> Int {
            { x, y in
                let colour = scene(x, y)
                return Colour(red: 255 - colour.red, green: 255 - colour.green, blue: 255 - colour.blue).yCbCr[index]
            }
        }
        let file = stored(
            segments: [TinyJPEG.adobe(transform: 2)],
            [complement(0), complement(1), complement(2), { _, _ in 255 }])
        try OrientationTests.expectQuarters(try recompress(file, JPEGOptions(quality: 90)))
    }

    @Test func `black ink darkens`() throws {
        let file = stored(segments: [TinyJPEG.adobe(transform: 0)], Array(repeating: { _, _ in 128 }, count: 4))
        let seen = try Seen(try recompress(file, JPEGOptions(quality: 90)).bytes)
        #expect(abs(seen.yCbCr(20, 20)[0] - 64) < 3)
    }

    @Test func `progressive input decodes like baseline`() throws {
        let progressive = try recompress(Scene.photoFile, JPEGOptions(mode: .fast)).bytes
        #expect(try JPEGHeader(parsing: progressive).process == .progressive)
        let options = JPEGOptions.maxBytes(.bytes(5_000), mode: .fast)
        // The same coefficients, so the same bytes.
        #expect(try recompress(progressive, options).bytes == recompress(Scene.photoFile, options).bytes)
    }

    private func stored(segments: [[UInt8]], _ samples: [(Int, Int) -> Int]) -> [UInt8] {
        let components = samples.enumerated().map {
            TinyJPEG.Component(identifier: UInt8($0.offset + 1), sample: $0.element)
        }
        return TinyJPEG(width: Self.width, height: Self.height, components: components, segments: segments).encoded()
    }
}
