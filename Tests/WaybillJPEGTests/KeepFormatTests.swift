import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

/// `keepsFormat`: PNG and WebP files that fit are kept.
@Suite struct KeepFormatTests {
    static func png(_ before: [[UInt8]] = [], after: [[UInt8]] = []) -> [UInt8] {
        var png = TinyPNG(40, 30, .rgba) { x, y in [x * 6, y * 8, 90, x * 5] }
        (png.before, png.after) = (before, after)
        return png.encoded()
    }

    static func options(_ limit: Int = 100_000, quality: Int? = nil, _ mode: JPEGOptions.Mode = .fast) -> JPEGOptions {
        JPEGOptions(maxBytes: .bytes(Int64(limit)), quality: quality, mode: mode, keepsFormat: true)
    }

    static func webP(_ channels: Int, isLossless: Bool) -> [UInt8] { WebPTests.file(channels, isLossless: isLossless) }

    static let plain = [png(), webP(3, isLossless: true), webP(4, isLossless: true), webP(3, isLossless: false)]

    @Test(arguments: plain, JPEGOptions.Mode.allCases)
    func `a file without metadata that fits is returned unchanged`(file: [UInt8], mode: JPEGOptions.Mode) throws {
        for limit in [file.count, 100_000] {
            let result = try recompress(file, Self.options(limit, mode))
            #expect(result.bytes == file)
            #expect(result.report.format == (file[0] == 0x89 ? .png : .webP))
            #expect(result.report.isPassedThrough && result.report.stripped == [] && result.report.quality == nil)
            #expect(result.report.width == result.report.originalWidth)
        }
        var converting = Self.options(100_000, mode)
        converting.keepsFormat = false
        #expect(try recompress(file, converting).report.format == .jpeg)
    }

    @Test(arguments: JPEGOptions.Mode.allCases)
    func `a file that exceeds the limit by a byte becomes a JPEG`(mode: JPEGOptions.Mode) throws {
        let file = Self.png()
        #expect(try recompress(file, Self.options(file.count, mode)).report.format == .png)
        #expect(try recompress(file, Self.options(file.count - 1, mode)).report.format == .jpeg)
    }

    @Test func `the metadata of a kept PNG is removed`() throws {
        let exif = TinyPNG.chunk("eXIf", Array(TinyJPEG.exif(orientation: 1).dropFirst(10)))
        let file = Self.png(
            [exif, TinyPNG.chunk("pHYs", [0, 0, 0, 1, 0, 0, 0, 1, 0]), TinyPNG.chunk("caBX", [1, 2, 3])],
            after: [TinyPNG.chunk("tEXt", Array("Author\0me".utf8))])
        let result = try recompress(file + [1, 2, 3], Self.options())
        #expect(result.bytes == Self.png())
        #expect(result.report.stripped == ["Exif", "caBX", "text", "trailing data"])
    }

    @Test func `what defines the colors of a kept PNG is kept, except a profile and what it overrides`() throws {
        let gamma = TinyPNG.chunk("gAMA", [0, 1, 0x86, 0xA0])
        let code = TinyPNG.chunk("cICP", [9, 16, 0, 1])
        let result = try recompress(Self.png([code, gamma]), Self.options())
        #expect(result.bytes == Self.png([code, gamma]) && result.report.stripped == [])
        let profile = TinyPNG.chunk("iCCP", Array("p3\0\0".utf8) + TinyPNG.stored([1, 2, 3]))
        let dropped = try recompress(Self.png([gamma, profile]), Self.options())
        #expect(dropped.bytes == Self.png() && dropped.report.droppedProfile == "unnamed")
    }

    @Test(arguments: [3, 4], [false, true])
    func `the metadata of a kept WebP is removed, its pixels are unchanged`(channels: Int, isLossless: Bool) throws {
        let simple = Self.webP(channels, isLossless: isLossless)
        let exif = Array(TinyJPEG.exif(orientation: 1).dropFirst(10))
        let file = TinyWebP.extended(
            simple, WebPTests.width, WebPTests.height, profile: [1, 2, 3], exif: exif, xmp: Array("<x/>".utf8))
        let result = try recompress(file, Self.options())
        #expect(result.report.stripped == ["Exif", "XMP", "ICC profile"] && result.report.format == .webP)
        #expect(
            TinyWebP.pixels(of: result.bytes, channels: channels) == TinyWebP.pixels(of: simple, channels: channels))
        #expect(result.bytes.count < file.count - exif.count)
        // It is complete, has no more metadata, and is kept unchanged by another call.
        let again = try recompress(result.bytes, Self.options())
        #expect(again.bytes == result.bytes && again.report.stripped == [])
    }

    @Test func `the byte that pads the data of a kept WebP is kept`() throws {
        var file = Self.webP(3, isLossless: true)
        #expect(file[16] % 2 == 1)
        // libwebp may read damaged data beyond its end, so that this byte matters.
        file[file.count - 1] = 0x55
        #expect(try recompress(file, Self.options()).bytes == file)
    }

    @Test func `a PNG with very many chunks is not kept beyond the limit`() throws {
        var png = TinyPNG(4, 4, .gray) { x, y in [x + y] }
        png.before = Array(repeating: TinyPNG.chunk("gAMA", [0, 0, 0xB1, 0x8F]), count: 20_000)
        let file = png.encoded()
        #expect(FormatKeeper.strip(png: file, limit: file.count) == file)
        #expect(FormatKeeper.strip(png: file, limit: file.count - 1) == nil)
    }

    @Test func `a file that must be turned, converted, scaled or cut to its first frame becomes a JPEG`() throws {
        let profile = Array(GamutTests.displayP3.profile.dropFirst(18))
        let p3 = TinyPNG.chunk(
            "iCCP", Array("p3\0\0".utf8) + TinyPNG.stored(ProfileBytes.long(profile.count) + profile.dropFirst(4)))
        let exif = Array(TinyJPEG.exif(orientation: 6).dropFirst(10))
        let (width, height) = (WebPTests.width, WebPTests.height)
        let lossless = Self.webP(3, isLossless: true)
        let files = [
            Self.png([TinyPNG.chunk("eXIf", exif)]), Self.png([p3]),
            Self.png([TinyPNG.chunk("acTL", [0, 0, 0, 1, 0, 0, 0, 0])]),
            TinyWebP.extended(lossless, width, height, exif: exif),
            TinyWebP.extended(lossless, width, height, profile: profile),
            TinyWebP.animation([lossless], width, height), TinyWebP.animation([lossless, lossless], width, height),
        ]
        for (index, file) in files.enumerated() {
            #expect(try recompress(file, Self.options()).report.format == .jpeg, "\(index)")
        }
        var narrow = Self.options()
        narrow.maxSide = 39
        #expect(try recompress(Self.png(), narrow).report.format == .jpeg)
    }

    @Test func `with a quality, the smaller file is returned`() throws {
        let tiny = TinyPNG(8, 8, .gray) { x, _ in [x * 30] }.encoded()
        #expect(try recompress(tiny, JPEGOptions(quality: 50, keepsFormat: true)).bytes == tiny)
        #expect(try recompress(Self.png(), JPEGOptions(quality: 50, keepsFormat: true)).report.format == .jpeg)
        #expect(try recompress(Self.png(), Self.options(quality: 50)).report.format == .jpeg)
    }

    @Test func `a damaged or incomplete file is an error, an end marker is added`() throws {
        var damaged = Self.png()
        damaged[damaged.count / 2] ^= 0x10
        #expect(failure(damaged, Self.options()) == .corrupt)
        for missing in [1, 4, 12] {
            let result = try recompress(Array(Self.png().dropLast(missing)), Self.options())
            #expect(result.bytes == Self.png() && result.report.isEndMissing)
        }
        for file in Self.plain {
            for length in stride(from: 60, to: file.count - 12, by: 131) {
                #expect(failure(Array(file.prefix(length)), Self.options()) == .truncated)
            }
        }
    }

    @Test func `a JPEG file and pixels are not affected`() throws {
        let with = try recompress(Scene.photoFile, Self.options(4_000))
        #expect(with.report.format == .jpeg && with.report.format.contentType == "image/jpeg")
        var without = Self.options(4_000)
        without.keepsFormat = false
        #expect(try recompress(Scene.photoFile, without).bytes == with.bytes)
    }

    @Test func `formats have their names`() {
        let formats = JPEGReport.Format.allCases
        #expect(formats.map(\.description) == ["JPEG", "PNG", "WebP"])
        #expect(formats.map(\.contentType) == ["image/jpeg", "image/png", "image/webp"])
        #expect(formats.map { $0.fileExtensions[0] } == ["jpg", "png", "webp"])
    }
}
