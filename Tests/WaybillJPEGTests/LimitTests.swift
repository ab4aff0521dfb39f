import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite struct LimitTests {
    @Test(arguments: JPEGOptions.Mode.allCases, [900, 1_500, 2_500, 4_000, 7_000, 11_000, 16_000])
    func `a limit is never exceeded and nearly used up`(mode: JPEGOptions.Mode, limit: Int) throws {
        let result = try recompress(Scene.photoFile, .maxBytes(.bytes(Int64(limit)), mode: mode))
        #expect(result.bytes.count <= limit)
        #expect(result.report.bytes == result.bytes.count)
        let seen = try DecodedPixels(result.bytes)
        #expect(seen.header.width == result.report.width && seen.header.height == result.report.height)
        #expect(result.report.scale <= 1)
        // Below 4 kB a single table entry amounts to more than a few percent.
        if limit >= 4_000 { #expect(Double(result.bytes.count) >= 0.95 * Double(limit)) }
    }

    @Test func `limits one byte apart are all met`() throws {
        let file = Scene.file(96, 64, Scene.photo(96, 64))
        for limit in 1_200..<1_240 {
            let result = try recompress(file, .maxBytes(.bytes(Int64(limit)), mode: .draft))
            #expect(result.bytes.count <= limit)
        }
    }

    @Test func `an unreachable limit reports the smallest size reached`() {
        let error = #expect(throws: JPEGError.self) {
            try recompress(Scene.photoFile, .maxBytes(.bytes(120), mode: .fast))
        }
        #expect(error?.code == .cannotReachLimit)
        #expect(error?.message.contains("120 bytes") == true)
        #expect(error?.message.contains(/\d+ x \d+ pixels and the lowest quality it has \d+/) == true)
    }

    @Test(arguments: JPEGOptions.Mode.allCases)
    func `a higher quality uses more bytes and deviates less`(mode: JPEGOptions.Mode) throws {
        let scene = Scene.photo(120, 88)
        let file = Scene.file(120, 88, scene)
        var last = (bytes: 0, distance: Double.infinity)
        for quality in [10, 40, 70, 90] {
            let result = try recompress(file, .quality(quality, mode: mode))
            #expect(result.report.width == 120 && result.report.height == 88)
            #expect(result.report.quality == quality)
            let luma = try DecodedPixels(result.bytes).lumaDistance(to: scene)
            #expect(result.bytes.count > last.bytes && luma < last.distance)
            last = (result.bytes.count, luma)
        }
    }

    @Test func `with both options, quality is a ceiling and the limit is strict`() throws {
        let loose = try recompress(Scene.photoFile, JPEGOptions(maxBytes: .bytes(20_000), quality: 30))
        let free = try recompress(Scene.photoFile, JPEGOptions(quality: 30))
        #expect(loose.bytes == free.bytes)
        let tight = try recompress(Scene.photoFile, JPEGOptions(maxBytes: .bytes(2_000), quality: 30))
        #expect(tight.bytes.count <= 2_000)
        #expect(try #require(tight.report.quality) <= 30)
    }

    @Test(arguments: [43_200, 43_199, 10_000, 999, 100])
    func `a maximum number of pixels is never exceeded, and the aspect ratio is kept`(cap: Int) throws {
        let result = try recompress(Scene.photoFile, JPEGOptions(quality: 60, maxPixels: cap, mode: .fast))
        let report = result.report
        #expect(report.width * report.height <= cap)
        #expect(Double(report.width * report.height) > 0.85 * Double(cap))
        #expect(abs(Double(report.width) / Double(report.height) - 4 / 3) < 0.15)
    }

    @Test func `an image that fits keeps its coefficients and never grows`() throws {
        let before = try DecodedPixels(Scene.photoFile)
        for options in [JPEGOptions(), .maxBytes(.kibibytes(100)), JPEGOptions(maxPixels: 1_000_000, mode: .fast)] {
            let result = try recompress(Scene.photoFile, options)
            #expect(result.report.isPassedThrough && result.report.quality == nil)
            #expect(result.bytes.count <= Scene.photoFile.count)
            let after = try DecodedPixels(result.bytes)
            #expect((0..<180).allSatisfy { y in (0..<240).allSatisfy { before.yCbCr($0, y) == after.yCbCr($0, y) } })
        }
    }

    @Test(arguments: [1, 3], [[], [TinyJPEG.adobe(transform: 1)]])
    func `a tiny file without a JFIF segment does not grow`(components: Int, segments: [[UInt8]]) throws {
        let planes = (1...components).map { index in TinyJPEG.Component(identifier: UInt8(index)) { x, y in x * y + 9 }
        }
        let file = TinyJPEG(width: 8, height: 8, components: planes, segments: segments).encoded()
        for mode in JPEGOptions.Mode.allCases {
            let result = try recompress(file, .maxBytes(.kibibytes(100), mode: mode))
            #expect(result.bytes.count <= file.count && result.report.isPassedThrough)
            #expect(try JPEGHeader(parsing: result.bytes).colorModel == (components == 1 ? .grey : .yCbCr))
        }
    }

    @Test func `a file just above the limit is first transcoded without loss`() throws {
        let plain = try recompress(Scene.photoFile, .quality(60)).bytes
        let comment = TinyJPEG.segment(0xFE, Array(repeating: 0x20, count: 5_000))
        let file = Array(plain.prefix(2)) + comment + plain.dropFirst(2)
        let kept = try recompress(file, .maxBytes(.bytes(Int64(plain.count))))
        #expect(kept.report.isPassedThrough && kept.bytes.count <= plain.count)
        let tighter = try recompress(file, .maxBytes(.bytes(Int64(kept.bytes.count - 1))))
        #expect(!tighter.report.isPassedThrough && tighter.bytes.count < kept.bytes.count)
    }

    @Test(arguments: JPEGOptions.Mode.allCases)
    func `recompressing the result again changes nothing`(mode: JPEGOptions.Mode) throws {
        let options = JPEGOptions.maxBytes(.bytes(6_000), mode: mode)
        let once = try recompress(Scene.photoFile, options)
        let twice = try recompress(once.bytes, options)
        #expect(twice.report.isPassedThrough)
        #expect(twice.bytes.count <= once.bytes.count)
    }

    @Test(arguments: [(1, 1), (1, 40), (40, 1), (7, 9), (17, 16), (33, 31)])
    func `tiny and odd sizes work in every mode`(width: Int, height: Int) throws {
        let scene = Scene.photo(width, height, grain: 3)
        let file = Scene.file(width, height, scene)
        for mode in JPEGOptions.Mode.allCases {
            let result = try recompress(file, JPEGOptions(maxBytes: .bytes(4_000), quality: 80, mode: mode))
            let seen = try DecodedPixels(result.bytes)
            #expect(seen.header.width == width && seen.header.height == height)
            #expect(seen.lumaDistance(to: scene) < 12)
        }
    }

    @Test func `a document keeps more pixels than a photo`() throws {
        let file = Scene.file(320, 240, Scene.photo(320, 240))
        let photo = try recompress(file, JPEGOptions(maxBytes: .bytes(1_500), mode: .fast))
        let document = try recompress(file, JPEGOptions(maxBytes: .bytes(1_500), mode: .fast, isDocument: true))
        #expect(document.bytes.count <= 1_500)
        #expect(document.report.width > photo.report.width)
    }
}

extension DecodedPixels {
    func lumaDistance(to scene: (Int, Int) -> RGBColor) -> Double {
        var sum = 0.0
        for y in 0..<header.height {
            for x in 0..<header.width { sum += abs(picture.luma[x, y] - Double(scene(x, y).yCbCr[0])) }
        }
        return sum / Double(header.width * header.height)
    }
}
