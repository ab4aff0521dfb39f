import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

/// Pages of text are recognized, stay legible, and use the limit.
@Suite struct PageTests {
    @Test(arguments: [
        ("clean", DrawnPage(), true),
        ("scanned on gray paper", DrawnPage(paper: 215, noise: 6), true),
        ("with a third of its lines", DrawnPage(lines: 0...0.33), true),
        ("blank", DrawnPage(lines: nil), false),
        ("blank and scanned", DrawnPage(lines: nil, noise: 6), false),
        ("photographed in uneven light", DrawnPage(shade: 120), false),
        ("with a picture on half of it", DrawnPage(picture: 0.5), false),
        ("all picture", DrawnPage(picture: 1), false),
    ])
    func `evenly lit paper with text is a page`(name: String, page: DrawnPage, expected: Bool) {
        #expect((page.plane(isFine: false).paper != nil) == expected, "\(name), bytes")
        #expect((page.plane(isFine: true).paper != nil) == expected, "\(name), words")
    }

    @Test(arguments: [180, 215, 238])
    func `the brightness of the paper is measured`(paper: Int) throws {
        for isFine in [false, true] {
            let found = try #require(DrawnPage(paper: paper, noise: 6).plane(isFine: isFine).paper)
            #expect(abs(found - Double(paper)) < 0.3)
        }
    }

    @Test(arguments: [226, 229, 232, 235, 238, 241])
    func `gray paper keeps one brightness`(paper: Int) throws {
        let page = DrawnPage(width: 1_000, height: 1_400, paper: paper, lines: 0...0.4, noise: 5)
        let result = try page.recompressed(.maxBytes(.kibibytes(20), mode: .fast))
        let seen = try DecodedPixels(result.bytes)
        // The lower half is blank. Every eighth sample of every eighth row is in a block of its own.
        let rows = stride(from: seen.header.height / 2, to: seen.header.height, by: 8)
        let samples = rows.flatMap { y in stride(from: 4, to: seen.header.width, by: 8).map { seen.picture.luma[$0, y] }
        }
        let even = samples.count { abs($0 - Double(paper)) <= 1 }
        #expect(Double(even) > 0.98 * Double(samples.count))
    }

    @Test(arguments: [(1, 1), (7, 900), (900, 7), (8, 8)])
    func `a plane without a block of text is no page`(width: Int, height: Int) {
        #expect(DrawnPage(width: width, height: height, lines: nil).plane(isFine: false).paper == nil)
    }

    @Test(arguments: JPEGOptions.Mode.allCases)
    func `text keeps enough pixels to be legible`(mode: JPEGOptions.Mode) throws {
        let page = DrawnPage(width: 1_000, height: 1_400, lines: 0...0.2, noise: 3)
        let result = try page.recompressed(.maxBytes(.kibibytes(20), mode: mode))
        #expect(result.bytes.count <= 20 * 1_024)
        // 1.9 megapixels at 100 KiB, and fewer in proportion to the limit to the power of 0.75.
        #expect(result.report.width * result.report.height >= 560_000)
        let asked = try page.recompressed(JPEGOptions(maxBytes: .kibibytes(20), mode: mode, isDocument: true))
        #expect(asked.bytes == result.bytes)
    }

    @Test(arguments: JPEGOptions.Mode.allCases)
    func `an image that needs few bytes keeps more pixels`(mode: JPEGOptions.Mode) throws {
        // Nearly all of it is black: 430,000 pixels, the usual maximum at 10 KiB, do not use up the limit.
        let moon = DrawnPage(width: 1_000, height: 800, paper: 4, ink: 4, noise: 0, picture: 0.02)
        let result = try moon.recompressed(.maxBytes(.kibibytes(10), mode: mode))
        #expect(result.bytes.count <= 10 * 1_024)
        #expect(result.report.width * result.report.height > 450_000)
        #expect(result.bytes.count > 7_000)
    }
}

/// A drawn page: lines of strokes as wide as those of small print, on paper with noise, uneven light or a picture.
struct DrawnPage: Sendable {
    var width = 640
    var height = 480
    var paper = 250
    var ink = 20
    /// The part of the height that has lines of text; `nil`: none.
    var lines: ClosedRange<Double>? = 0...1
    var noise = 0
    /// How much darker the paper is at the right edge.
    var shade = 0
    /// The portion of the height, from the bottom, that is a picture.
    var picture = 0.0

    func luma() -> [UInt8] {
        var random = SeededGenerator(seed: 11)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(width * height)
        let firstPictureRow = Int((1 - picture) * Double(height))
        for y in 0..<height {
            let isLine = lines.map { $0.contains(Double(y) / Double(height)) } == true && y % 24 < 14
            for x in 0..<width {
                var value: Int
                if y >= firstPictureRow {
                    value = 90 + (x / 40 + y / 30) % 3 * 35 + Int.random(in: -20...20, using: &random)
                } else {
                    // Strokes two to three pixels wide, in words of ten.
                    let isStroke = isLine && x % 100 < 84 && (x * 7 + y / 5 * 3) % 8 < 3
                    value = (isStroke ? ink : paper) - shade * x / width
                    if noise > 0 { value += Int.random(in: -noise...noise, using: &random) }
                }
                bytes.append(UInt8(max(0, min(255, value))))
            }
        }
        return bytes
    }

    func plane(isFine: Bool) -> Plane {
        let plane = Plane(width: width, height: height, isFine: isFine)
        for (index, value) in luma().enumerated() {
            switch plane.storage {
            case .bytes(let samples): samples[index] = value
            case .words(let samples): samples[index] = UInt16(value) << 8
            }
        }
        return plane
    }

    func recompressed(_ options: JPEGOptions) throws -> JPEGResult {
        let pixels = JPEGPixels(width: width, height: height, format: .grey, bytes: luma())
        return try Recompression(input: .pixels(pixels), options: options, flag: CancellationFlag()).run()
    }
}
