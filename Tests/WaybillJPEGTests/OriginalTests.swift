import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

/// `onFailure: .sendOriginal`.
@Suite struct OriginalTests {
    @Test func `an image that cannot be decoded is sent as it is, without metadata`() throws {
        let deep = Self.file(precision: 12, frameMarker: 0xC1)
        #expect(failure(deep, .maxBytes(.kibibytes(100))) == .unsupportedPrecision)
        let result = try recompress(deep, Self.options(.kibibytes(100)))
        #expect(result.report.failure == .unsupportedPrecision && result.report.isPassedThrough)
        #expect(result.report.stripped == ["Exif", "comment"])
        #expect(markers(result.bytes).map(\.code).filter { (0xE0...0xEF).contains($0) || $0 == 0xFE } == [0xE0])
        #expect(result.bytes.suffix(40) == deep.suffix(40))
    }

    @Test(arguments: 2...8)
    func `a kept original keeps its orientation and no other Exif`(orientation: Int) throws {
        let result = try recompress(Self.file(orientation: orientation, precision: 12), Self.options(.kibibytes(100)))
        let header = try JPEGHeader(parsing: result.bytes)
        #expect(header.orientation == orientation)
        #expect(header.segments.map(\.name) == ["JFIF", "Exif"])
        #expect(header.segments.map(\.byteCount) == [18, 36])
        #expect(result.report.width == (orientation >= 5 ? 24 : 40))
    }

    @Test func `an original above a limit is still an error`() {
        let deep = Self.file(precision: 12)
        #expect(failure(deep, Self.options(.bytes(Int64(deep.count / 2)))) == .unsupportedPrecision)
        var narrow = Self.options(.kibibytes(100))
        narrow.maxSide = 39
        #expect(failure(deep, narrow) == .unsupportedPrecision)
        narrow = Self.options(.kibibytes(100))
        narrow.maxPixels = 40 * 24 - 1
        #expect(failure(deep, narrow) == .unsupportedPrecision)
    }

    @Test func `an invalid or truncated file is still an error`() {
        let options = Self.options(.kibibytes(100))
        #expect(failure([], options) == .empty)
        #expect(failure(Array("not a picture".utf8), options) == .notAJPEG)
        #expect(failure(Array(Scene.photoFile.dropLast(200)), options) == .truncated)
    }

    @Test func `damaged data is sent only if that was requested`() throws {
        var bytes = Scene.photoFile
        bytes.replaceSubrange(bytes.count / 2..<bytes.count / 2 + 40, with: Array(repeating: 0x55, count: 40))
        let plain = JPEGOptions(maxBytes: .kibibytes(100), quality: 40)
        guard failure(bytes, plain) == .corrupt else {
            // The flipped bytes happened to decode, so there is nothing to hold back.
            Issue.record("the damage was not noticed")
            return
        }
        var options = plain
        options.onFailure = .sendOriginal
        let result = try recompress(bytes, options)
        #expect(result.report.failure == .corrupt && result.bytes.count <= bytes.count)
    }

    @Test func `CMYK and RGB files keep the segment that defines their color model`() throws {
        let sample: (Int, Int) -> Int = { x, y in (x * 7 + y * 5) % 256 }
        for (count, transform) in [(3, 0), (4, 0), (4, 2)] as [(Int, UInt8)] {
            let components = (1...count).map { TinyJPEG.Component(identifier: UInt8($0), sample: sample) }
            let file = TinyJPEG(
                width: 16, height: 16, components: components, segments: [TinyJPEG.adobe(transform: transform)],
                frameMarker: 0xC1, precision: 12)
            let before = try JPEGHeader(parsing: file.encoded())
            let after = try JPEGHeader(parsing: recompress(file.encoded(), Self.options(.kibibytes(9))).bytes)
            #expect(after.colorModel == before.colorModel && after.adobeTransform == before.adobeTransform)
        }
    }

    private static func options(_ limit: ByteCount) -> JPEGOptions {
        JPEGOptions(maxBytes: limit, onFailure: .sendOriginal)
    }

    private static func file(orientation: Int = 1, precision: UInt8, frameMarker: UInt8 = 0xC1) -> [UInt8] {
        let component = TinyJPEG.Component(identifier: 1) { x, y in (x * 11 + y * 3) % 250 }
        return TinyJPEG(
            width: 40, height: 24, components: [component],
            segments: [
                TinyJPEG.jfif, TinyJPEG.exif(orientation: UInt16(orientation)), TinyJPEG.segment(0xFE, [1, 2, 3]),
            ], frameMarker: frameMarker, precision: precision
        ).encoded()
    }
}
