import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite struct PNGTests {
    /// A kind of PNG file, and the pixels that it stands for.
    struct Variant: Sendable, CustomTestStringConvertible {
        let kind: TinyPNG.Kind
        let depth: Int
        var testDescription: String { "\(kind), \(depth) bits" }

        static let all: [Variant] = [
            (.gray, [1, 2, 4, 8, 16]), (.rgb, [8, 16]), (.palette, [1, 2, 4, 8]), (.grayAlpha, [8, 16]),
            (.rgba, [8, 16]),
        ].flatMap { (kind: TinyPNG.Kind, depths: [Int]) in depths.map { Variant(kind: kind, depth: $0) } }

        private var largest: Int { (1 << depth) - 1 }

        /// Returns the samples of a pixel: different in each channel, with all values.
        func samples(_ x: Int, _ y: Int) -> [Int] {
            (0..<kind.channels).map { channel in (x * (3 + channel) + y * (7 - channel) + channel) * 911 & largest }
        }

        static let palette: [[UInt8]] = (0..<256).map {
            [UInt8($0), UInt8(255 - $0), UInt8($0 * 7 & 255)]
        }

        func png(_ width: Int, _ height: Int) -> TinyPNG {
            var png = TinyPNG(width, height, kind, depth: depth, sample: samples)
            if kind == .palette { png.before = [TinyPNG.chunk("PLTE", Self.palette[...largest].flatMap { $0 })] }
            return png
        }

        /// Returns the same image as 8-bit pixels.
        func pixels(_ width: Int, _ height: Int) -> JPEGPixels {
            var bytes: [UInt8] = []
            for y in 0..<height {
                for x in 0..<width { bytes += pixel(samples(x, y)) }
            }
            let format: JPEGPixels.Format =
                switch kind {
                case .gray: .grey
                case .rgb, .palette: .rgb
                case .grayAlpha, .rgba: .rgba
                }
            return JPEGPixels(width: width, height: height, format: format, bytes: bytes)
        }

        private func pixel(_ samples: [Int]) -> [UInt8] {
            if kind == .palette { return Self.palette[samples[0]] }
            // 16 bits are rounded, fewer are spread over the whole range.
            let bytes = samples.map { UInt8(($0 * 255 * 2 + largest) / (2 * largest)) }
            return kind == .grayAlpha ? [bytes[0], bytes[0], bytes[0], bytes[1]] : bytes
        }
    }

    @Test(arguments: Variant.all, [false, true])
    func `every kind of file yields the same image as its pixels`(variant: Variant, isInterlaced: Bool) throws {
        for (width, height) in [(37, 23), (1, 1), (8, 3), (3, 8)] {
            var png = variant.png(width, height)
            png.isInterlaced = isInterlaced
            let result = try recompress(png.encoded(), .quality(95))
            #expect(result.bytes == (try Self.encoded(variant.pixels(width, height)).bytes), "\(width) x \(height)")
            #expect(result.report.stripped == [] && !result.report.isPassedThrough)
        }
    }

    @Test func `a transparent color of each kind is composited on white`() throws {
        let rgb: (Int, Int) -> [Int] = { x, _ in x < 8 ? [10, 20, 30] : [200, 100, 50] }
        let wanted = Self.pixels(16, 8, .rgb) { x, y in x < 8 ? [255, 255, 255] : rgb(x, y).map { UInt8($0) } }
        var truecolor = TinyPNG(16, 8, .rgb, sample: rgb)
        truecolor.before = [TinyPNG.chunk("tRNS", [0, 10, 0, 20, 0, 30])]
        #expect(try Self.bytes(truecolor) == Self.encoded(wanted).bytes)

        var palette = TinyPNG(16, 8, .palette) { x, _ in [x < 8 ? 0 : 1] }
        palette.before = [
            TinyPNG.chunk("PLTE", [10, 20, 30, 200, 100, 50]), TinyPNG.chunk("tRNS", [0]),
        ]
        #expect(try Self.bytes(palette) == Self.encoded(wanted).bytes)

        var gray = TinyPNG(16, 8, .gray) { x, _ in [x < 8 ? 7 : 90] }
        gray.before = [TinyPNG.chunk("tRNS", [0, 7])]
        let grays = Self.pixels(16, 8, .rgb) { x, _ in x < 8 ? [255, 255, 255] : [90, 90, 90] }
        #expect(try Self.bytes(gray) == Self.encoded(grays).bytes)
    }

    @Test(arguments: 1...8)
    func `the Exif orientation is applied, before or after the image data, with and without a prefix`(
        orientation: Int
    ) throws {
        let (width, height) = (96, 64)
        let (across, down) = orientation >= 5 ? (height, width) : (width, height)
        let scene = OrientationTests.storedScene(width, height, orientation, Scene.quarters(width, height))
        var png = TinyPNG(across, down, .rgb) { x, y in
            let color = scene(x, y)
            return [color.red, color.green, color.blue]
        }
        let segment = TinyJPEG.exif(orientation: UInt16(orientation))
        let exif = TinyPNG.chunk("eXIf", Array(segment.dropFirst(10)))
        let prefixed = TinyPNG.chunk("eXIf", Array(segment.dropFirst(4)))
        for (before, after) in [([exif], []), ([], [exif]), ([prefixed], [])] {
            (png.before, png.after) = (before, after)
            let result = try recompress(png.encoded(), .quality(92))
            #expect(result.report.orientation == orientation && result.report.stripped == ["Exif"])
            #expect(result.report.originalWidth == width && result.report.originalHeight == height)
            try OrientationTests.expectQuarters(result)
        }
    }

    @Test func `a linear image becomes brighter`() throws {
        var png = TinyPNG(16, 16, .gray) { _, _ in [55] }
        png.before = [TinyPNG.chunk("gAMA", [0, 1, 0x86, 0xA0])]
        // 55 of 255 in linear light is 128 in sRGB.
        let luma = try DecodedPixels(Self.bytes(png)).picture.luma
        #expect(abs(luma[8, 8] - 128) < 3)
        // The declaration of sRGB has precedence over the gamma value, which is approximate.
        png.before.append(TinyPNG.chunk("sRGB", [0]))
        #expect(abs(try DecodedPixels(Self.bytes(png)).picture.luma[8, 8] - 55) < 2)
    }

    @Test(
        arguments: [
            ("cICP", [1, 13, 0, 1], []), ("cICP", [9, 16, 0, 1], ["color space"]),
            ("cHRM", TinyPNG.primaries(red: 64_000, 33_000), []),
            ("cHRM", TinyPNG.primaries(red: 68_000, 32_000), ["color space"]),
        ] as [(String, [UInt8], [String])])
    func `a color space without a profile is named unless it is sRGB`(
        chunk: String, data: [UInt8], stripped: [String]
    ) throws {
        var png = TinyPNG(16, 16, .rgb) { _, _ in [40, 200, 60] }
        png.before = [TinyPNG.chunk(chunk, data)]
        #expect(try recompress(png.encoded(), .quality(92)).report.stripped == stripped)
        // A code has precedence over the declaration of sRGB, which has precedence over primaries.
        png.before.append(TinyPNG.chunk("sRGB", [0]))
        #expect(try recompress(png.encoded(), .quality(92)).report.stripped == (chunk == "cICP" ? stripped : []))
    }

    @Test func `an embedded profile is converted and named`() throws {
        var png = TinyPNG(64, 48, .rgb) { _, _ in [40, 200, 60] }
        var profile = Array(GamutTests.displayP3.profile.dropFirst(18))
        profile.replaceSubrange(0..<4, with: ProfileBytes.long(profile.count))
        png.before = [
            TinyPNG.chunk("cHRM", TinyPNG.primaries(red: 68_000, 32_000)),
            TinyPNG.chunk("iCCP", Array("p3\0\0".utf8) + TinyPNG.stored(profile)),
        ]
        let result = try recompress(png.encoded(), .quality(95))
        #expect(result.report.convertedProfile == "Display P3")
        #expect(result.report.stripped == ["ICC profile"])
        let jpeg = Scene.file(
            64, 48, sampling: (1, 1), segments: [TinyJPEG.jfif, GamutTests.displayP3.profile]
        ) { _, _ in RGBColor(red: 40, green: 200, blue: 60) }
        let wanted = try DecodedPixels(recompress(jpeg, .quality(95, mode: .fast)).bytes).yCbCr(20, 20)
        for (seen, wanted) in zip(try DecodedPixels(result.bytes).yCbCr(20, 20), wanted) {
            #expect(abs(seen - wanted) < 3)
        }
    }

    @Test func `metadata is named, also of an animation`() throws {
        var png = TinyPNG(8, 8, .gray) { x, _ in [x * 30] }
        let plain = try Self.bytes(png)
        png.before = [
            TinyPNG.chunk("pHYs", [0, 0, 0, 1, 0, 0, 0, 1, 0]), TinyPNG.chunk("tEXt", Array("Author\0me".utf8)),
            TinyPNG.chunk("acTL", [0, 0, 0, 1, 0, 0, 0, 0]), TinyPNG.chunk("caBX", [1, 2, 3]),
        ]
        png.after = [
            TinyPNG.chunk("tIME", [7, 0xEA, 1, 1, 0, 0, 0]), TinyPNG.chunk("iTXt", Array("x\0\0\0\0\0y".utf8)),
        ]
        let result = try recompress(png.encoded() + [1, 2, 3], .quality(95))
        #expect(result.report.stripped == ["text", "animation", "caBX", "time", "trailing data"])
        #expect(result.bytes == plain)
    }

    @Test func `a file that is cut off is refused, unless only its end marker is missing`() throws {
        let whole = Variant(kind: .rgb, depth: 8).png(9, 7).encoded()
        let wanted = try recompress(whole, .quality(95)).bytes
        for length in 0..<whole.count {
            let prefix = Array(whole[..<length])
            // The end marker has 12 bytes.
            guard length < whole.count - 12 else {
                let result = try recompress(prefix, .quality(95))
                #expect(result.report.isEndMissing && result.bytes == wanted)
                continue
            }
            let code = failure(prefix)
            let expected: [JPEGError.Code] = length < 8 ? [.empty, .notAJPEG] : [.truncated]
            #expect(code.map(expected.contains) == true, "\(length): \(String(describing: code))")
        }
    }

    @Test func `a changed byte is an error or harmless`() throws {
        var file = Variant(kind: .palette, depth: 4).png(9, 7).encoded()
        let dataRange = 8..<file.count - 12
        var codes: Set<JPEGError.Code> = []
        for index in dataRange {
            file[index] ^= 0x55
            if let code = failure(file) { codes.insert(code) }
            file[index] ^= 0x55
        }
        #expect(codes.isSuperset(of: [.corrupt]))
        #expect(codes.isSubset(of: [.corrupt, .truncated, .tooManyPixels, .noPixels]))
    }

    @Test(arguments: [(65_500, 65_500, false), (70_000, 1, false), (16_400, 16_400, false), (8_001, 8_001, true)])
    func `a small file that declares a huge image is refused before decoding`(
        width: Int, height: Int, isInterlaced: Bool
    ) throws {
        #expect(failure(Self.resized(width, height, isInterlaced)) == .tooManyPixels)
    }

    @Test func `damaged transparency is an error, damaged metadata is not`() throws {
        var png = TinyPNG(8, 8, .gray) { x, _ in [x * 30] }
        let plain = try Self.bytes(png)
        let transparency = TinyPNG.chunk("tRNS", [0, 30])
        for index in 4..<transparency.count {
            var damaged = transparency
            damaged[index] ^= 0x20
            png.before = [damaged]
            #expect(failure(png.encoded()) == .corrupt, "byte \(index)")
        }
        for name in ["tEXt", "zTXt", "tIME", "pHYs"] {
            var damaged = TinyPNG.chunk(name, [1, 0, 2, 3])
            damaged[damaged.count - 1] ^= 1
            png.before = [damaged]
            #expect(try Self.bytes(png) == plain)
        }
    }

    @Test func `a profile that libpng rejects is reported without a name`() throws {
        var png = TinyPNG(8, 8, .gray) { x, _ in [x * 30] }
        png.before = [TinyPNG.chunk("iCCP", Array("p3\0\0".utf8) + TinyPNG.stored([1, 2, 3]))]
        let report = try recompress(png.encoded(), .quality(95)).report
        #expect(report.droppedProfile == "unnamed" && report.convertedProfile == nil)
    }

    @Test func `a file that is cut off within its last metadata is refused`() {
        var png = TinyPNG(8, 8, .gray) { x, _ in [x * 30] }
        let exif = TinyPNG.chunk("eXIf", Array(TinyJPEG.exif(orientation: 6).dropFirst(10)))
        png.after = [exif]
        let whole = png.encoded()
        // The end marker has 12 bytes, the checksum of the chunk 4.
        for missing in 17...(exif.count - 8 + 12) {
            #expect(failure(Array(whole.dropLast(missing))) == .truncated, "\(missing) bytes missing")
        }
    }

    @Test func `a second header with another size is refused`() {
        var png = TinyPNG(4, 4, .gray) { x, y in [x + y] }
        for size in [(4, 4), (9_000, 4), (4, 9_000), (0, 0)] {
            let header = ProfileBytes.long(size.0) + ProfileBytes.long(size.1) + [8, 0, 0, 0, 0]
            (png.before, png.after) = ([TinyPNG.chunk("IHDR", header)], [])
            #expect(failure(png.encoded()) == .corrupt)
            (png.before, png.after) = ([], [TinyPNG.chunk("IHDR", header)])
            #expect(failure(png.encoded()) == .corrupt)
        }
    }

    @Test func `a file with very many chunks is read in linear time`() throws {
        var png = TinyPNG(4, 4, .gray) { x, y in [x + y] }
        let names = (0..<40).map { TinyPNG.chunk("p\(UnicodeScalar(UInt8(97 + $0 % 26)))A\($0 < 26 ? "a" : "b")", []) }
        png.before = (0..<5_000).flatMap { _ in names }
        let result = try recompress(png.encoded(), .quality(95))
        #expect(result.report.stripped.count == 20)
    }

    @Test func `a file without pixels is refused`() {
        #expect(failure(Self.resized(0, 8, false)) == .noPixels)
        #expect(failure(TinyPNG.signature + TinyPNG.chunk("IEND", [])) == .truncated)
        #expect(failure(TinyPNG.signature + TinyPNG.chunk("IHDR", [1])) == .corrupt)
    }

    @Test(arguments: [false, true])
    func `a cancelled task ends the work`(isInterlaced: Bool) throws {
        var png = TinyPNG(64, 64, .gray) { x, y in [(x * y) & 255] }
        png.isInterlaced = isInterlaced
        let flag = CancellationFlag()
        flag.set()
        let source = try ImageSource(file: png.encoded())
        let error = #expect(throws: JPEGError.self) {
            try source.withRows(eighths: 8, flag: flag) { rows throws(JPEGError) in _ = try rows.read() }
        }
        #expect(error?.code == .cancelled)
    }

    @Test func `a screenshot fits the limit in every mode`() throws {
        let png = TinyPNG(900, 700, .rgb) { x, y in
            [(x / 9 * 31) & 255, (y / 7 * 17) & 255, x & y & 8 == 0 ? 240 : (x * y) & 255]
        }.encoded()
        for mode in JPEGOptions.Mode.allCases {
            let result = try recompress(png, .maxBytes(.kibibytes(40), mode: mode))
            #expect(result.bytes.count <= 40_960)
            #expect(result.report.originalBytes == png.count)
        }
    }

    @Test func `the image may need more bytes than a tiny file`() throws {
        let png = TinyPNG(2, 2, .gray, depth: 1) { x, y in [(x + y) & 1] }.encoded()
        #expect(png.count < 100)
        let result = try recompress(png, .maxBytes(.kibibytes(1)))
        #expect(result.bytes.count > png.count && result.bytes.count <= 1_024)
    }

    private static func bytes(_ png: TinyPNG) throws -> [UInt8] {
        try recompress(png.encoded(), .quality(95)).bytes
    }

    private static func encoded(_ pixels: JPEGPixels) throws -> JPEGResult {
        try Recompression(input: .pixels(pixels), options: .quality(95), flag: CancellationFlag()).run()
    }

    private static func pixels(
        _ width: Int, _ height: Int, _ format: JPEGPixels.Format, _ pixel: (Int, Int) -> [UInt8]
    ) -> JPEGPixels {
        let bytes = (0..<height).flatMap { y in (0..<width).flatMap { x in pixel(x, y) } }
        return JPEGPixels(width: width, height: height, format: format, bytes: bytes)
    }

    private static func resized(_ width: Int, _ height: Int, _ isInterlaced: Bool) -> [UInt8] {
        let size = ProfileBytes.long(width) + ProfileBytes.long(height) + [8, 2, 0, 0, isInterlaced ? 1 : 0]
        return TinyPNG.signature + TinyPNG.chunk("IHDR", size) + TinyPNG.chunk("IDAT", TinyPNG.stored([0, 0]))
            + TinyPNG.chunk("IEND", [])
    }
}

extension TinyPNG {
    /// Returns the data of a cHRM chunk: the primaries of sRGB, with another red.
    fileprivate static func primaries(red x: Int, _ y: Int) -> [UInt8] {
        [31_270, 32_900, x, y, 30_000, 60_000, 15_000, 6_000].flatMap(ProfileBytes.long)
    }
}
