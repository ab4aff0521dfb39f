import TestSupport
import Testing

@testable import WaybillJPEG

@Suite struct JPEGHeaderTests {
    @Test func `a header contains size, components, process and metadata`() throws {
        let comment = TinyJPEG.segment(0xFE, Array("taken at home".utf8))
        let xmp = TinyJPEG.segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0<x/>".utf8))
        let unknown = TinyJPEG.segment(0xE7, [1, 2, 3])
        let bytes = Scene.file(
            40, 24, segments: [TinyJPEG.jfif, TinyJPEG.exif(orientation: 6), xmp, unknown, comment],
            Scene.quarters(40, 24))
        let header = try JPEGHeader(parsing: bytes)
        #expect(header.width == 40 && header.height == 24)
        #expect(header.uprightSize == (24, 40))
        #expect(header.process == .baseline && !header.isArithmetic)
        #expect(header.precision == 8)
        #expect(header.components.map(\.horizontalSampling) == [2, 1, 1])
        #expect(header.colorModel == .yCbCr)
        #expect(header.orientation == 6)
        #expect(header.segments.map(\.name) == ["JFIF", "Exif", "XMP", "APP7", "comment"])
        #expect(header.segments.map(\.byteCount).last == comment.count)
        #expect(header.profileName == nil)
    }

    @Test(arguments: 1...8, [true, false])
    func `an orientation is read in both byte orders`(orientation: Int, isLittleEndian: Bool) throws {
        let exif = TinyJPEG.exif(orientation: UInt16(orientation), isLittleEndian: isLittleEndian)
        let header = try JPEGHeader(parsing: Scene.file(8, 8, segments: [exif], Scene.quarters(8, 8)))
        #expect(header.orientation == orientation)
    }

    @Test(arguments: [0, 9, 256, 65_535] as [UInt16])
    func `an invalid orientation is treated as upright`(orientation: UInt16) throws {
        let exif = TinyJPEG.exif(orientation: orientation)
        let header = try JPEGHeader(parsing: Scene.file(8, 8, segments: [exif], Scene.quarters(8, 8)))
        #expect(header.orientation == 1)
    }

    @Test func `a truncated Exif segment is read or ignored, never trusted`() throws {
        let whole = Array(TinyJPEG.exif(orientation: 8).dropFirst(4))
        for length in 0...whole.count {
            let exif = TinyJPEG.segment(0xE1, Array(whole.prefix(length)))
            let header = try JPEGHeader(parsing: Scene.file(8, 8, segments: [exif], Scene.quarters(8, 8)))
            #expect(header.orientation == 1 || header.orientation == 8, "cut at \(length)")
        }
    }

    @Test(arguments: [false, true])
    func `the name of a color profile is read from both versions of its description`(isUnicode: Bool) throws {
        let header = try JPEGHeader(
            parsing: Scene.file(8, 8, segments: [Self.profile("Display P3", isUnicode)], Scene.quarters(8, 8)))
        #expect(header.profileName == "Display P3")
    }

    @Test func `a truncated profile never crashes the parser`() throws {
        let whole = Array(Self.profile("Display P3", true).dropFirst(4))
        for length in 0...whole.count {
            let segment = TinyJPEG.segment(0xE2, Array(whole.prefix(length)))
            _ = try JPEGHeader(parsing: Scene.file(8, 8, segments: [segment], Scene.quarters(8, 8)))
        }
    }

    @Test func `every truncation of a header is a typed error`() throws {
        let bytes = Scene.file(
            16, 16, segments: [TinyJPEG.jfif, TinyJPEG.exif(orientation: 3), Self.profile("x", false)],
            Scene.quarters(16, 16))
        let header = try JPEGHeader(parsing: bytes)
        for length in 0..<header.scanOffset {
            let error = #expect(throws: JPEGError.self) { try JPEGHeader(parsing: Array(bytes.prefix(length))) }
            let expected: JPEGError.Code = length == 0 ? .empty : length == 1 ? .notAJPEG : .truncated
            #expect(error?.code == expected, "cut at \(length)")
        }
        for length in header.scanOffset...bytes.count {
            #expect(try JPEGHeader(parsing: Array(bytes.prefix(length))) == header)
        }
    }

    @Test func `random bytes in a header result in a header or a typed error`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let bytes = Scene.file(16, 16, segments: [TinyJPEG.exif(orientation: 3)], Scene.quarters(16, 16))
        for round in 0..<2_000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                changed[Int.random(in: 2..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            do throws(JPEGError) {
                _ = try JPEGHeader(parsing: changed)
            } catch {
                #expect([.truncated, .corrupt].contains(error.code), "seed \(seed), round \(round): \(error)")
            }
        }
    }

    @Test func `color models follow JFIF, then Adobe, then identifiers`() throws {
        func model(_ segments: [[UInt8]], _ identifiers: [UInt8]) throws -> JPEGHeader.ColorModel {
            let components = identifiers.map { TinyJPEG.Component(identifier: $0) { _, _ in 90 } }
            let file = TinyJPEG(width: 8, height: 8, components: components, segments: segments)
            return try JPEGHeader(parsing: file.encoded()).colorModel
        }
        #expect(try model([TinyJPEG.jfif], Array("RGB".utf8)) == .yCbCr)
        #expect(try model([], Array("RGB".utf8)) == .rgb)
        #expect(try model([], [1, 2, 3]) == .yCbCr)
        #expect(try model([TinyJPEG.adobe(transform: 0)], [1, 2, 3]) == .rgb)
        #expect(try model([TinyJPEG.adobe(transform: 2)], [1, 2, 3, 4]) == .ycck)
        #expect(try model([], [1, 2, 3, 4]) == .cmyk)
        #expect(try model([], [1]) == .grey)
        #expect(try model([], [1, 2]) == .unknown)
    }

    /// Returns an ICC profile with a single tag, its description.
    static func profile(_ name: String, _ isUnicode: Bool) -> [UInt8] {
        func long(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(value >> $0 & 255) } }
        var body = [UInt8](repeating: 0, count: 128) + long(1)
        body += Array("desc".utf8) + long(144) + long(100)
        if isUnicode {
            let text = name.utf8.flatMap { byte -> [UInt8] in [0, byte] }
            body += Array("mluc".utf8) + long(0) + long(1) + long(12) + Array("enUS".utf8) + long(text.count) + long(28)
            body += text
        } else {
            body += Array("desc".utf8) + long(0) + long(name.utf8.count + 1) + Array(name.utf8) + [0]
        }
        return TinyJPEG.segment(0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + body)
    }
}
