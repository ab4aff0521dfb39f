import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite struct MinimumSideTests {
    @Test(arguments: JPEGOptions.Mode.allCases)
    func `the longer side never falls below minSide`(mode: JPEGOptions.Mode) throws {
        let free = try recompress(Scene.photoFile, JPEGOptions(maxBytes: .bytes(1_500), mode: mode))
        #expect(free.report.width < 200)
        let result = try recompress(Scene.photoFile, JPEGOptions(maxBytes: .bytes(1_500), minSide: 230, mode: mode))
        #expect(result.report.width >= 230)
        #expect(result.bytes.count <= 1_500)
    }

    @Test func `a minSide above the size of the usual trials is respected`() throws {
        let (width, height) = (3_200, 2_000)
        let bytes = (0..<width * height).map { UInt8(($0 % width) / 26 + ($0 / width) / 16) }
        let pixels = JPEGPixels(width: width, height: height, format: .grey, bytes: bytes)
        func side(_ floor: Int?) throws -> Int {
            let options = JPEGOptions(maxBytes: .kibibytes(60), minSide: floor, mode: .draft)
            let work = Recompression(input: .pixels(pixels), options: options, flag: CancellationFlag())
            return try work.run().report.width
        }
        #expect(try side(nil) < 2_000)
        #expect(try side(2_700) >= 2_700)
        #expect(try side(3_199) >= 3_199)
    }

    @Test func `a limit that cannot be met at minSide is an error with both remedies`() {
        let error = #expect(throws: JPEGError.self) {
            try recompress(Scene.photoFile, JPEGOptions(maxBytes: .bytes(500), minSide: 240, mode: .fast))
        }
        #expect(error?.code == .cannotReachLimit)
        #expect(error?.smallestBytes ?? 0 > 500)
        #expect(error?.message.contains("240 x 180") == true)
        #expect(error?.message.hasSuffix("Raise maxBytes, or lower minSide.") == true)
    }

    @Test func `an image smaller than minSide keeps its size`() throws {
        let result = try recompress(Scene.photoFile, JPEGOptions(maxBytes: .bytes(4_000), minSide: 10_000, mode: .fast))
        #expect(result.report.width == 240 && result.report.height == 180)
    }

    @Test func `a minSide that contradicts another limit is refused`() {
        for options in [
            JPEGOptions(minSide: 0), JPEGOptions(maxSide: 100, minSide: 101),
            JPEGOptions(maxBytes: .bytes(5_000), maxPixels: 10_000, minSide: 200),
        ] {
            let error = #expect(throws: JPEGError.self) { try recompress(Scene.photoFile, options) }
            #expect(error?.code == .invalidOptions)
        }
    }
}
