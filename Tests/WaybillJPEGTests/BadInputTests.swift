import Foundation
import Glibc
import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite struct BadInputTests {
    @Test func `empty input, other files and a lone SOI have specific errors`() {
        #expect(failure([]) == .empty)
        #expect(failure(Array("hello, world".utf8)) == .notAJPEG)
        #expect(failure([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) == .truncated)
        #expect(failure([0xFF]) == .notAJPEG)
        #expect(failure([0xFF, 0xD8]) == .truncated)
        #expect(failure([0xFF, 0xD8, 0xFF, 0xD9]) == .corrupt)
    }

    @Test func `an image without a frame header is corrupt`() {
        let scan = TinyJPEG.segment(0xDA, [1, 1, 0, 0, 63, 0])
        #expect(failure([0xFF, 0xD8] + scan + [0, 0, 0xFF, 0xD9]) == .corrupt)
    }

    @Test(arguments: [(65_500, 65_500), (65_535, 65_535), (65_501, 8), (16_400, 16_400)])
    func `a small file that declares a huge image is refused before decoding`(width: Int, height: Int) {
        let bomb = Self.resized(Self.grey(8, 8), width, height)
        #expect(bomb.count < 600)
        #expect(failure(bomb) == .tooManyPixels)
    }

    @Test func `a progressive image has a lower pixel limit`() throws {
        let progressive = try recompress(Self.grey(8, 8), JPEGOptions(quality: 50)).bytes
        #expect(try JPEGHeader(parsing: progressive).process == .progressive)
        #expect(failure(Self.resized(progressive, 16_000, 16_000)) == .tooManyPixels)
        // 48 megapixels are decoded, and the data is that of another image.
        #expect(failure(Self.resized(progressive, 8_064, 6_048)) == .corrupt)
    }

    @Test(arguments: [(12_000, 9_000), (16_320, 12_240)], JPEGOptions.Mode.allCases)
    func `images of the largest phones are scaled while they are decoded`(
        size: (width: Int, height: Int), mode: JPEGOptions.Mode
    ) throws {
        let file = Self.flat(size.width, size.height)
        let result = try recompress(file, .maxBytes(.kibibytes(100), mode: mode))
        #expect(result.report.originalWidth == size.width && result.report.originalHeight == size.height)
        #expect(result.bytes.count <= 102_400)
        let luma = try DecodedPixels(result.bytes).picture.luma
        #expect(luma.width == result.report.width)
        #expect(luma.isNeutral)
    }

    @Test(arguments: [(0, 8), (8, 0)])
    func `a side of zero is refused`(width: Int, height: Int) {
        #expect(failure(Self.resized(Self.grey(8, 8), width, height)) == .noPixels)
    }

    @Test func `more than 100 MB are refused`() {
        #expect(failure(Self.grey(8, 8) + Array(repeating: 0, count: 100_000_000)) == .tooManyBytes)
    }

    @Test(
        arguments: [(0xC3, .unsupportedProcess), (0xC5, .unsupportedProcess), (0xCB, .unsupportedProcess)]
            as [(UInt8, JPEGError.Code)])
    func `lossless and hierarchical processes are refused`(marker: UInt8, code: JPEGError.Code) {
        #expect(failure(Self.grey(8, 8, frameMarker: marker)) == code)
    }

    @Test func `12 bits and 2 components are refused`() {
        #expect(failure(Self.grey(8, 8, frameMarker: 0xC1, precision: 12)) == .unsupportedPrecision)
        let components = [1, 2].map { TinyJPEG.Component(identifier: $0) { _, _ in 90 } }
        let file = TinyJPEG(width: 8, height: 8, components: components)
        #expect(failure(file.encoded()) == .unsupportedComponents)
    }

    @Test func `more than 100 scans are refused`() throws {
        let progressive = try recompress(Self.grey(16, 16), JPEGOptions(quality: 50)).bytes
        let scans = markers(progressive).filter { $0.code == 0xDA }
        let last = try #require(scans.last).offset
        let repeated = Array(progressive[last..<progressive.count - 2])
        var file = Array(progressive.dropLast(2))
        for _ in 0..<120 { file += repeated }
        #expect(failure(file + [0xFF, 0xD9]) == .tooManyScans)
    }

    @Test(arguments: [JPEGOptions(quality: 60), .maxBytes(.kibibytes(100), mode: .fast)])
    func `every truncation of a file is a typed error`(options: JPEGOptions) {
        let bytes = Scene.file(24, 16, quantiser: 12, Scene.photo(24, 16))
        // Without the marker at the end, all image data is there: see below.
        for length in 0..<bytes.count - 2 {
            let code = failure(Array(bytes.prefix(length)), options)
            let expected: [JPEGError.Code] = length < 2 ? [.empty, .notAJPEG] : [.truncated]
            #expect(code.map(expected.contains) == true, "cut at \(length): \(String(describing: code))")
        }
    }

    @Test func `every truncation with restart markers or in progressive coding is a typed error`() throws {
        let progressive = try recompress(Self.webcamFrame(stray: []), JPEGOptions(quality: 50, mode: .fast)).bytes
        for bytes in [Self.webcamFrame(stray: []), progressive] {
            for length in 2..<bytes.count - 2 {
                let code = failure(Array(bytes.prefix(length)), JPEGOptions(quality: 60, mode: .draft))
                #expect(code == .truncated, "cut at \(length) of \(bytes.count): \(String(describing: code))")
            }
        }
    }

    /// The arithmetic decoder reads zeros after the end, without a warning: even a missing end marker is an error.
    @Test(arguments: ColorTests.arithmetic)
    func `every truncation of arithmetic coding is a typed error`(text: String) throws {
        let bytes = Array(try #require(Data(base64Encoded: text, options: .ignoreUnknownCharacters)))
        for length in 2..<bytes.count {
            let code = failure(Array(bytes.prefix(length)), JPEGOptions(quality: 60, mode: .draft))
            #expect(code == .truncated, "cut at \(length) of \(bytes.count): \(String(describing: code))")
        }
    }

    @Test(arguments: [1, 2])
    func `a missing end marker is added and reported`(missing: Int) throws {
        let progressive = try recompress(Scene.photoFile, JPEGOptions(quality: 60, mode: .fast)).bytes
        for file in [Scene.photoFile, progressive, Self.webcamFrame(stray: [])] {
            for options in [JPEGOptions(), JPEGOptions(quality: 50, mode: .fast), .maxBytes(.bytes(3_000))] {
                let repaired = try recompress(Array(file.dropLast(missing)), options)
                let whole = try recompress(file, options)
                #expect(repaired.bytes == whole.bytes)
                #expect(repaired.report.isEndMissing && !whole.report.isEndMissing)
            }
        }
    }

    @Test func `a file whose coefficients cannot be written again is decoded and encoded`() throws {
        // The mean of a block is out of range by more than the whole range. Rotated, the difference of two consecutive
        // blocks needs 12 bits; the format has 11.
        let rows = TinyJPEG.Component(identifier: 1) { _, y in [-122, 128, 378][y / 8] }
        let file = TinyJPEG(
            width: 16, height: 24, components: [rows], segments: [TinyJPEG.jfif, TinyJPEG.exif(orientation: 6)],
            quantiser: 1)
        var defects = ToleratedDefects()
        let rewritten = try JPEGWriter.transcode(
            file.encoded(), orientation: 6, script: .split, flag: CancellationFlag(), defects: &defects)
        #expect(rewritten == nil)
        let result = try recompress(file.encoded(), .maxBytes(.kibibytes(100)))
        #expect(!result.report.isPassedThrough)
        #expect((result.report.width, result.report.height) == (24, 16))
    }

    @Test func `a progressive file without its last scans is truncated even if it ends between two scans`() throws {
        let bytes = try recompress(Scene.photoFile, JPEGOptions(quality: 60, mode: .fast)).bytes
        let scans = markers(bytes).filter { $0.code == 0xDA }
        #expect(scans.count > 2)
        for scan in scans.dropFirst() {
            let cut = Array(bytes.prefix(scan.offset))
            for options in [JPEGOptions(), JPEGOptions(quality: 50, mode: .fast)] {
                #expect(failure(cut, options) == .truncated, "cut at \(scan.offset)")
            }
        }
    }

    @Test func `a truncated progressive file is an error, not a blurry image`() throws {
        let bytes = try recompress(Scene.photoFile, JPEGOptions(quality: 60, mode: .fast)).bytes
        for share in [0.3, 0.6, 0.9, 0.99] {
            let cut = Array(bytes.prefix(Int(Double(bytes.count) * share)))
            #expect(failure(cut, .maxBytes(.bytes(3_000), mode: .draft)) == .truncated, "cut at \(share)")
        }
    }

    @Test func `flipped bits cause a typed error or an image, never a crash`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let bytes = Scene.file(48, 32, quantiser: 10, Scene.photo(48, 32))
        for round in 0..<400 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let position = Int.random(in: 0..<damaged.count, using: &random)
                damaged[position] ^= 1 << UInt8.random(in: 0...7, using: &random)
            }
            let options = JPEGOptions(
                maxBytes: .bytes(2_500), quality: round % 2 == 0 ? 50 : nil, maxPixels: 20_000, mode: .fast)
            do throws(JPEGError) {
                let result = try recompress(damaged, options)
                #expect(result.bytes.count <= 2_500, "seed \(seed), round \(round)")
                _ = try JPEGHeader(parsing: result.bytes)
            } catch {
                let isKnown = ![.cancelled, .invalidOptions, .outOfMemory].contains(error.code)
                #expect(isKnown, "seed \(seed), round \(round): \(error)")
            }
        }
    }

    @Test func `data damaged between markers is corrupt, not silently gray`() {
        var bytes = Scene.photoFile
        // A marker in the middle of the data ends the data there.
        bytes[bytes.count / 2] = 0xFF
        bytes[bytes.count / 2 + 1] = 0xD9
        #expect(failure(bytes, JPEGOptions(quality: 50)) == .corrupt)
    }

    @Test(arguments: [1, 4, 9])
    func `a few stray bytes before the end are skipped and reported`(count: Int) throws {
        let stray = (0..<count).map { UInt8($0 * 7 % 251) }
        let bytes = Array(Scene.photoFile.dropLast(2)) + stray + [0xFF, 0xD9]
        for options in [JPEGOptions(), JPEGOptions(quality: 50, mode: .fast), .maxBytes(.bytes(5_000), mode: .draft)] {
            let result = try recompress(bytes, options)
            // libjpeg consumes up to 8 of them as image data before it notices.
            #expect((max(0, count - 8)...count).contains(result.report.strayBytes))
            #expect(result.bytes == (try recompress(Scene.photoFile, options).bytes))
        }
    }

    @Test(arguments: [18, 40, 80]) func `many stray bytes are treated as corruption`(count: Int) {
        let bulk = Array(Scene.photoFile.dropLast(2)) + Array(repeating: 0x11, count: count) + [0xFF, 0xD9]
        #expect(failure(bulk, JPEGOptions(quality: 50)) == .corrupt)
    }

    /// A picture with a restart marker after each row of blocks.
    private static func webcamFrame(stray: [UInt8]) -> [UInt8] {
        let component = TinyJPEG.Component(identifier: 1) { x, y in (x * 31 + y * 17) % 200 }
        var frame = TinyJPEG(width: 64, height: 40, components: [component])
        frame.restarts = (interval: 8, strayBytes: stray)
        return frame.encoded()
    }

    @Test(arguments: [1, 4, 9])
    func `a few stray bytes before restart markers do not change the picture`(count: Int) throws {
        let clean = Self.webcamFrame(stray: [])
        let frame = Self.webcamFrame(stray: (0..<count).map { UInt8($0 * 37 % 251) })
        #expect(frame.count == clean.count + 4 * count)
        for options in [JPEGOptions(), JPEGOptions(quality: 50, mode: .fast), .maxBytes(.bytes(1_500), mode: .draft)] {
            let result = try recompress(frame, options)
            #expect(result.bytes == (try recompress(clean, options).bytes))
            #expect(result.report.strayBytes <= 4 * count)
            #expect(result.report.strayBytes > 0 || count < 8)
        }
    }

    @Test func `many stray bytes before a restart marker are treated as corruption`() {
        let frame = Self.webcamFrame(stray: Array(repeating: 0x11, count: 40))
        #expect(failure(frame, JPEGOptions(quality: 50)) == .corrupt)
    }

    @Test func `a restart marker out of order is corrupt`() throws {
        var frame = Self.webcamFrame(stray: [1, 2, 3])
        let first = try #require(frame.indices.first { frame[$0] == 0xFF && frame[$0 + 1] == 0xD0 })
        frame[first + 1] = 0xD5
        #expect(failure(frame, JPEGOptions(quality: 50)) == .corrupt)
    }

    @Test(arguments: [[1], [0, 7], [0xFF, 0], Array(repeating: 3, count: 64)] as [[UInt8]])
    func `a few stray bytes between header segments are skipped`(stray: [UInt8]) throws {
        let component = TinyJPEG.Component(identifier: 1) { x, y in (x * 31 + y * 17) % 200 }
        func file(_ segments: [[UInt8]]) -> [UInt8] {
            TinyJPEG(width: 48, height: 40, components: [component], segments: segments).encoded()
        }
        for options in [JPEGOptions(), JPEGOptions(quality: 50, mode: .fast)] {
            let result = try recompress(file([TinyJPEG.jfif, stray]), options)
            #expect(result.bytes == (try recompress(file([TinyJPEG.jfif]), options).bytes))
            #expect(result.report.strayBytes == stray.count)
        }
        #expect(failure(file([TinyJPEG.jfif, Array(repeating: 3, count: 65)]), JPEGOptions()) == .corrupt)
    }

    @Test(arguments: [0, 1, 1_000_000])
    func `trailing data after the end is removed`(count: Int) throws {
        let result = try recompress(Scene.photoFile + Array(repeating: 0, count: count), JPEGOptions(quality: 50))
        #expect(result.report.stripped == (count == 0 ? [] : ["trailing data"]))
        #expect(result.bytes == (try recompress(Scene.photoFile, JPEGOptions(quality: 50)).bytes))
    }

    @Test func `the error contains the smallest size reached`() throws {
        let error = #expect(throws: JPEGError.self) { try recompress(Scene.photoFile, .maxBytes(.bytes(150))) }
        let smallest = try #require(error?.smallestBytes)
        #expect(smallest > 150)
        #expect(error?.message.contains("\(smallest)") == true)
    }

    @Test func `options out of range are refused`() {
        #expect(failure(Scene.photoFile, JPEGOptions(quality: 0)) == .invalidOptions)
        #expect(failure(Scene.photoFile, JPEGOptions(quality: 101)) == .invalidOptions)
        #expect(failure(Scene.photoFile, JPEGOptions(maxBytes: .bytes(0))) == .invalidOptions)
        #expect(failure(Scene.photoFile, JPEGOptions(maxPixels: 0)) == .invalidOptions)
    }

    @Test func `missing files, directories and devices have specific errors`() async {
        let recompressor = JPEGRecompressor(.quality(50))
        for (path, code) in [
            ("/nowhere/card.jpg", .fileNotFound), ("/tmp", .notARegularFile), ("/dev/null", .notARegularFile),
        ] as [(String, JPEGError.Code)] {
            let error = await #expect(throws: JPEGError.self) { try await recompressor.recompress(file: path) }
            #expect(error?.code == code)
            #expect(error?.message.contains(path) == true)
        }
    }

    static func grey(_ width: Int, _ height: Int, frameMarker: UInt8 = 0xC0, precision: UInt8 = 8) -> [UInt8] {
        let component = TinyJPEG.Component(identifier: 1) { x, y in (x * 31 + y * 17) % 200 }
        return TinyJPEG(
            width: width, height: height, components: [component], frameMarker: frameMarker, precision: precision
        ).encoded()
    }

    /// Returns a gray image of any size whose samples are all 128.
    static func flat(_ width: Int, _ height: Int) -> [UInt8] {
        // Two blocks without a difference to those before fill three bytes.
        let two = TinyJPEG(width: 16, height: 8, components: [TinyJPEG.Component(identifier: 1) { _, _ in 128 }])
        let file = resized(two.encoded(), width, height)
        let pairs = ((width + 7) / 8 * ((height + 7) / 8) + 1) / 2
        let scan = file[(file.count - 5)..<(file.count - 2)]
        return file[..<(file.count - 5)] + repeatElement(scan, count: pairs).joined() + [0xFF, 0xD9]
    }

    /// Returns the same file with another size in its frame header.
    static func resized(_ bytes: [UInt8], _ width: Int, _ height: Int) -> [UInt8] {
        guard let frame = markers(bytes).first(where: { (0xC0...0xC2).contains($0.code) }) else { return [] }
        var changed = bytes
        changed.replaceSubrange(
            frame.offset + 5..<frame.offset + 9,
            with: [UInt8(height >> 8), UInt8(height & 255), UInt8(width >> 8), UInt8(width & 255)])
        return changed
    }
}
