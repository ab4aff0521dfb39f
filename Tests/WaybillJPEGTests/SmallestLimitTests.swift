import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

/// Limits close to the size of the smallest file of an image.
@Suite struct SmallestLimitTests {
    struct Image: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let file: [UInt8]
    }

    static let images = [
        Image(testDescription: "a photo", file: Scene.file(96, 64, Scene.photo(96, 64))),
        Image(testDescription: "four colors", file: Scene.file(120, 90, Scene.quarters(120, 90))),
        Image(
            testDescription: "squares, which scaling blurs",
            file: TinyPNG(64, 64, .gray) { x, y in [(x / 8 + y / 8) % 2 * 255] }.encoded()),
        Image(
            testDescription: "noise",
            file: TinyPNG(80, 60, .rgb) { x, y in
                let hash = (x &* 73_856_093 ^ y &* 19_349_663) &* 83_492_791 >> 7
                return [hash & 255, hash >> 8 & 255, hash >> 16 & 255]
            }.encoded()),
        Image(
            testDescription: "a line", file: TinyPNG(300, 1, .rgb) { x, _ in [x * 5 & 255, x / 2, 90] }.encoded()),
        Image(testDescription: "a tiny JPEG", file: Scene.file(20, 20, quantiser: 90, Scene.quarters(20, 20))),
    ]

    @Test(arguments: images, JPEGOptions.Mode.allCases)
    func `every limit from the one that the error names is met, and none below`(
        image: Image, mode: JPEGOptions.Mode
    ) throws {
        func outcome(_ limit: Int) -> Result<JPEGResult, JPEGError> {
            Result { () throws(JPEGError) in try recompress(image.file, .maxBytes(.bytes(Int64(limit)), mode: mode)) }
        }
        func named(_ limit: Int) throws -> Int {
            let error = #expect(throws: JPEGError.self) { try outcome(limit).get() }
            #expect(error?.code == .cannotReachLimit)
            return try #require(error?.smallestBytes)
        }
        let smallest = try named(1)
        for limit in [100, 150, smallest - 30, smallest - 9] + (smallest - 3..<smallest) where limit < smallest {
            #expect(try named(limit) == smallest)
        }
        for limit in Array(smallest..<smallest + 16) + Array(stride(from: smallest + 16, to: 2_000, by: 181)) {
            let bytes = try outcome(limit).get().bytes
            #expect(bytes.count <= limit)
            _ = try DecodedPixels(bytes)
        }
    }

    @Test func `with minSide, the limit that the error names is met`() throws {
        for (side, mode) in [(60, .best), (100, .fast), (200, .draft)] as [(Int, JPEGOptions.Mode)] {
            var options = JPEGOptions(maxBytes: .bytes(300), minSide: side, mode: mode)
            let error = #expect(throws: JPEGError.self) { try recompress(Scene.photoFile, options) }
            let smallest = try #require(error?.smallestBytes)
            for limit in smallest..<smallest + 8 {
                options.maxBytes = .bytes(Int64(limit))
                let result = try recompress(Scene.photoFile, options)
                #expect(result.bytes.count <= limit && result.report.width >= side)
            }
            options.maxBytes = .bytes(Int64(smallest - 1))
            #expect(failure(Scene.photoFile, options) == .cannotReachLimit)
        }
    }

    @Test func `the coefficients of a tiny file are kept if every new encoding is larger`() throws {
        let gray = TinyJPEG.Component(identifier: 1) { x, y in (x + y) % 2 * 255 }
        let file = TinyJPEG(width: 8, height: 8, components: [gray], quantiser: 255).encoded()
        let error = #expect(throws: JPEGError.self) { try recompress(file, .maxBytes(.bytes(100))) }
        let smallest = try #require(error?.smallestBytes)
        #expect(try recompress(file, .maxBytes(.bytes(Int64(smallest)))).bytes.count == smallest)
    }
}
