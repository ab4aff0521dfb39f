import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite struct WebPTests {
    static let (width, height) = (61, 45)

    static func pixels(_ channels: Int, _ width: Int = width, _ height: Int = height) -> [UInt8] {
        (0..<width * height).flatMap { index in
            let (x, y) = (index % width, index / width)
            return [x * 3, y * 4, 200 - x - y, 100 + x].prefix(channels).map { UInt8(clamping: $0) }
        }
    }

    static func file(_ channels: Int = 3, isLossless: Bool = false) -> [UInt8] {
        TinyWebP.file(width, height, channels: channels, pixels: pixels(channels), isLossless: isLossless)
    }

    @Test(arguments: [3, 4], [false, true])
    func `every kind of file yields the same image as its pixels`(channels: Int, isLossless: Bool) throws {
        let file = Self.file(channels, isLossless: isLossless)
        let decoded = TinyWebP.pixels(of: file, channels: channels)
        if isLossless { #expect(decoded == Self.pixels(channels)) }
        #expect(try recompress(file, .quality(95)).bytes == Self.encoded(decoded, channels).bytes)
    }

    @Test(arguments: 1...8)
    func `the Exif orientation is applied, with and without a prefix`(orientation: Int) throws {
        let (width, height) = (96, 64)
        let (across, down) = orientation >= 5 ? (height, width) : (width, height)
        let scene = OrientationTests.storedScene(width, height, orientation, Scene.quarters(width, height))
        let pixels = (0..<across * down).flatMap { index in
            let color = scene(index % across, index / across)
            return [color.red, color.green, color.blue].map { UInt8($0) }
        }
        let simple = TinyWebP.file(across, down, channels: 3, pixels: pixels, isLossless: true)
        for prefix in [4, 10] {
            let exif = Array(TinyJPEG.exif(orientation: UInt16(orientation)).dropFirst(prefix))
            let result = try recompress(TinyWebP.extended(simple, across, down, exif: exif), .quality(92))
            #expect(result.report.orientation == orientation && result.report.stripped == ["Exif"])
            try OrientationTests.expectQuarters(result)
        }
    }

    @Test func `metadata and profiles are named, and data after the file`() throws {
        let profile = Array(GamutTests.displayP3.profile.dropFirst(18))
        let file = TinyWebP.extended(
            Self.file(isLossless: true), Self.width, Self.height, profile: profile, xmp: Array("<x/>".utf8))
        let result = try recompress(file + [1, 2, 3, 4], .quality(95))
        #expect(result.report.stripped == ["XMP", "ICC profile", "trailing data"])
        #expect(result.report.convertedProfile == "Display P3")
    }

    @Test func `the first frame of an animation is used`() throws {
        let first = Self.file(isLossless: true)
        let white = [UInt8](repeating: 255, count: Self.width * Self.height * 3)
        let second = TinyWebP.file(Self.width, Self.height, channels: 3, pixels: white, isLossless: true)
        let result = try recompress(TinyWebP.animation([first, second], Self.width, Self.height), .quality(95))
        #expect(result.report.stripped == ["animation"])
        #expect(result.bytes == (try recompress(first, .quality(95)).bytes))
    }

    @Test(arguments: [3, 4], [false, true])
    func `a first frame that covers a part of an animation is placed on white`(channels: Int, isLossless: Bool) throws {
        let frame = Self.file(channels, isLossless: isLossless)
        let decoded = TinyWebP.pixels(of: frame, channels: channels)
        for (canvas, place) in [((100, 80), (12, 30)), ((61, 60), (0, 2)), ((90, 45), (28, 0)), ((64, 45), (0, 0))] {
            let file = TinyWebP.animation([frame], canvas.0, canvas.1, at: place, size: (Self.width, Self.height))
            var whole = [UInt8](repeating: 255, count: canvas.0 * canvas.1 * channels)
            for y in 0..<Self.height {
                let start = ((y + place.1) * canvas.0 + place.0) * channels
                let row = y * Self.width * channels
                whole.replaceSubrange(
                    start..<start + Self.width * channels, with: decoded[row..<row + Self.width * channels])
            }
            let result = try recompress(file, .quality(95))
            #expect((result.report.width, result.report.height) == canvas)
            #expect(result.bytes == (try Self.encoded(whole, channels, canvas.0, canvas.1).bytes))
        }
    }

    @Test func `a small frame of a large animation is scaled with it`() throws {
        let file = TinyWebP.animation([Self.file()], 6_000, 4_000, at: (2_000, 1_000), size: (Self.width, Self.height))
        for mode in JPEGOptions.Mode.allCases {
            let result = try recompress(file, .maxBytes(.kibibytes(20), mode: mode))
            #expect((result.report.originalWidth, result.report.originalHeight) == (6_000, 4_000))
            #expect(result.bytes.count <= 20_480)
        }
        let huge = TinyWebP.animation([Self.file()], 16_000, 16_000, at: (0, 0), size: (Self.width, Self.height))
        #expect(failure(huge) == .tooManyPixels)
        let beyond = TinyWebP.animation([Self.file()], 70, 60, at: (10, 10), size: (Self.width, Self.height))
        #expect(failure(beyond) == .corrupt)
    }

    @Test(arguments: [3, 4], [false, true])
    func `a file that is cut off is refused`(channels: Int, isLossless: Bool) {
        let whole = Self.file(channels, isLossless: isLossless)
        for length in 0..<whole.count - 1 {
            let expected: [JPEGError.Code] = length < 12 ? [.empty, .notAJPEG] : [.truncated]
            let code = failure(Array(whole[..<length]))
            #expect(code.map(expected.contains) == true, "\(length): \(String(describing: code))")
        }
    }

    @Test func `a file that is cut off within its last metadata is refused`() {
        let exif = Array(TinyJPEG.exif(orientation: 6).dropFirst(10))
        let whole = TinyWebP.extended(Self.file(), Self.width, Self.height, exif: exif)
        for missing in 2...(exif.count + 8) {
            #expect(failure(Array(whole.dropLast(missing))) == .truncated, "\(missing) bytes missing")
        }
    }

    @Test func `only a transparent lossy image is not scaled while it is decoded`() throws {
        for (channels, isLossless) in [(3, false), (3, true), (4, false), (4, true)] {
            let source = try ImageSource(file: Self.file(channels, isLossless: isLossless))
            #expect(source.scalesWhileDecoding == (channels == 3 || isLossless))
        }
    }

    @Test(arguments: [false, true])
    func `a changed byte is an error or harmless`(isLossless: Bool) {
        var file = Self.file(4, isLossless: isLossless)
        let expected: [JPEGError.Code] = [.corrupt, .truncated, .tooManyPixels]
        for index in 12..<file.count {
            file[index] ^= 0x55
            let code = failure(file)
            #expect(code.map(expected.contains) != false, "\(index)")
            file[index] ^= 0x55
        }
    }

    @Test(arguments: [4, 2], [false, true])
    func `scaling while decoding does not shift the image`(eighths: Int, isLossless: Bool) throws {
        let (width, height) = (240, 180)
        let file = TinyWebP.file(
            width, height, channels: 3, pixels: Self.pixels(3, width, height), isLossless: isLossless)
        let source = try ImageSource(file: file)
        let loader = ImageLoader(source: source, isLinear: false, flag: CancellationFlag())
        let size = PixelSize(width: 60, height: 45)
        let (scaled, exact) = (try loader.load(size, eighths: eighths), try loader.load(size, eighths: 8))
        for (one, other) in zip([scaled.luma] + scaled.chroma, [exact.luma] + exact.chroma) {
            var bias = 0.0
            for y in 2..<one.height - 2 { for x in 2..<one.width - 2 { bias += one[x, y] - other[x, y] } }
            #expect(abs(bias / Double(one.width * one.height)) < 0.5)
        }
    }

    @Test func `too many pixels are refused before decoding`() throws {
        // The size of a lossless image is in the 28 bits after its signature.
        var lossless = Self.file(isLossless: true)
        lossless.replaceSubrange(21..<25, with: [0xFF, 0xFF, 0xFF, lossless[24] | 0x0F])
        #expect(failure(lossless) == .tooManyPixels)
        // That of a lossy image follows its start code.
        var lossy = Self.file()
        lossy.replaceSubrange(26..<30, with: [0xFF, 0x3F, 0xFF, 0x3F])
        #expect(failure(lossy) == .tooManyPixels)
    }

    @Test func `a small lossless file cannot make the decoder allocate tables for very many groups of codes`() throws {
        for groups in [1, 2, 300, 4_096] {
            let file = TinyWebP.grouped(256, 260, groups: groups)
            let header = try WebPHeader(file)
            #expect(WebPCodeGroups.count(in: file[header.frame], width: 256, height: 260) == groups)
            #expect(try recompress(file, .quality(80, mode: .draft)).report.width == 256)
        }
        let bomb = TinyWebP.grouped(1_024, 1_024, groups: 65_536)
        #expect(bomb.count < 300_000)
        for keeps in [false, true] {
            #expect(failure(bomb, JPEGOptions(maxBytes: .kibibytes(400), keepsFormat: keeps)) == .tooManyPixels)
        }
        // The groups of transparency count, too, and those of a frame.
        let alpha = Array("ALPH".utf8) + [255, 255, 255, 0, 1] + bomb.dropFirst(25)
        #expect(WebPCodeGroups.count(in: alpha[...], width: 1_024, height: 1_024) == 65_536)
        let animation = TinyWebP.animation([bomb], 1_100, 1_100, size: (1_024, 1_024))
        #expect(failure(animation) == .tooManyPixels)
    }

    /// Each transform has an image of its own that may take no bits, so a small file could occupy the parser for hours.
    @Test func `a lossless file with the same transform twice is damaged`() throws {
        for (predictors, groups) in [(0, 300), (1, 300), (2, 1), (3, 1)] {
            let file = TinyWebP.grouped(256, 260, groups: 300, predictors: predictors)
            let header = try WebPHeader(file)
            #expect(WebPCodeGroups.count(in: file[header.frame], width: 256, height: 260) == groups)
            #expect(failure(file) == (predictors > 1 ? .corrupt : nil))
        }
    }

    /// The header is parsed as libwebp writes it: with transforms, palettes, caches and copies.
    @Test(arguments: [2, 5, 17, 200, 100_000], [3, 4])
    func `the groups of codes of an encoder are counted`(colors: Int, channels: Int) throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let (width, height) = (Int.random(in: 200...520, using: &random), Int.random(in: 200...420, using: &random))
        let palette = (0..<min(colors, 512)).map { _ in UInt32.random(in: 0 ... .max, using: &random) }
        let pixels = (0..<width * height).flatMap { index -> [UInt8] in
            let (x, y) = (index % width, index / width)
            // Blocks of different content, so that they get different codes.
            let noise = colors < 512 || (x / 64 + y / 64) % 3 == 0
            let value =
                noise
                ? palette[Int.random(in: 0..<palette.count, using: &random)]
                : UInt32(x * 3 & 255) << 16 | UInt32(y * 2 & 255) << 8 | UInt32((x / 64 * 40 + x) & 255) | 0xFF00_0000
            return [value >> 16, value >> 8, value, value >> 24].prefix(channels).map { UInt8($0 & 255) }
        }
        let file = TinyWebP.file(width, height, channels: channels, pixels: pixels, isLossless: true)
        let header = try WebPHeader(file)
        let frame = file[header.frame]
        let count = WebPCodeGroups.count(in: frame, width: width, height: height)
        #expect(count <= 2_600, "seed \(seed)")
        #expect(colors < 512 || count > 1, "seed \(seed)")
        // What is read must not depend on the bytes behind it: the same header is found in a file that is cut off.
        for length in stride(from: 20, to: frame.count, by: max(1, frame.count / 40)) {
            #expect([1, count].contains(WebPCodeGroups.count(in: frame.prefix(length), width: width, height: height)))
        }
    }

    @Test func `a cancelled task ends the work`() throws {
        let file = Self.file()
        let flag = CancellationFlag()
        flag.set()
        let source = try ImageSource(file: file)
        let error = #expect(throws: JPEGError.self) {
            try source.withRows(eighths: 8, flag: flag) { rows throws(JPEGError) in _ = try rows.read() }
        }
        #expect(error?.code == .cancelled)
    }

    private static func encoded(
        _ pixels: [UInt8], _ channels: Int, _ width: Int = width, _ height: Int = height
    ) throws -> JPEGResult {
        let image = JPEGPixels(width: width, height: height, format: channels == 3 ? .rgb : .rgba, bytes: pixels)
        return try Recompression(input: .pixels(image), options: .quality(95), flag: CancellationFlag()).run()
    }
}
