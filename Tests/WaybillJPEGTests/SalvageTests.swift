import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

/// `salvage`: damaged sequential files are compressed as far as they are intact, and the report names the rest.
@Suite struct SalvageTests {
    static let (width, height) = (96, 160)
    static var scene: (Int, Int) -> RGBColor { Scene.quarters(width, height) }
    static let file = Scene.file(width, height, scene)

    static func options(_ mode: JPEGOptions.Mode = .fast, _ limit: Int64 = 4_000) -> JPEGOptions {
        JPEGOptions(maxBytes: .bytes(limit), mode: mode, onFailure: .salvage)
    }

    @Test(arguments: [(.fast, 1), (.draft, 19), (.best, 37)] as [(JPEGOptions.Mode, Int)])
    func `every cut is an error, or an image whose intact rows are right`(mode: JPEGOptions.Mode, step: Int) throws {
        let complete = try recompress(Self.file, Self.options(mode))
        #expect(complete.report.damagedFraction == 0)
        var fractions: [Double] = []
        for length in Array(stride(from: 0, to: Self.file.count - 2, by: step)) + [Self.file.count - 2] {
            let cut = Array(Self.file[..<length])
            switch Result(catching: { () throws(JPEGError) in try recompress(cut, Self.options(mode)) }) {
            case .success(let result):
                #expect(result.report.originalHeight == Self.height && result.bytes.count <= 4_000)
                fractions.append(result.report.damagedFraction)
                try Self.expectIntactRows(result)
            case .failure(let error):
                #expect(fractions.isEmpty, "A shorter cut was salvaged: \(length)")
                #expect(
                    [.empty, .truncated, .corrupt, .notAJPEG, .noPixels].contains(error.code), "\(length): \(error)")
            }
        }
        // The more of the file there is, the less is missing; without the end marker, nothing is.
        #expect(fractions.count > 8 && fractions == fractions.sorted(by: >) && fractions.last == 0)
        #expect(fractions.contains { $0 > 0.7 } && fractions.contains { $0 > 0 && $0 < 0.2 })
    }

    /// Expects each row above the damage, except those that scaling mixes with it, to have the colors of the scene.
    static func expectIntactRows(_ result: JPEGResult) throws {
        let seen = try DecodedPixels(result.bytes)
        let intact = Int(Double(seen.header.height) * (1 - result.report.damagedFraction)) - 16
        for row in stride(from: 8, to: intact, by: 16) {
            for column in [seen.header.width / 4, 3 * seen.header.width / 4] {
                let (x, y) = (column * width / seen.header.width, row * height / seen.header.height)
                for (seen, wanted) in zip(seen.yCbCr(column, row), scene(x, y).yCbCr) {
                    #expect(abs(seen - Double(wanted)) < 24, "\(column), \(row)")
                }
            }
        }
    }

    @Test func `without the option the same files are errors`() {
        #expect(failure(Array(Self.file.dropLast(60)), JPEGOptions(maxBytes: .bytes(4_000))) == .truncated)
        let original = JPEGOptions(maxBytes: .bytes(4_000), onFailure: .sendOriginal)
        #expect(failure(Array(Self.file.dropLast(60)), original) == .truncated)
    }

    @Test func `zeros instead of data leave in doubt where the damage begins`() throws {
        let half = Self.file.count / 2
        let zeroed = Array(Self.file.prefix(half)) + Array(repeating: 0, count: Self.file.count - half)
        #expect(try recompress(zeroed, Self.options()).report.damagedFraction == 1)
        #expect(try recompress(Array(Self.file.prefix(half)), Self.options()).report.damagedFraction < 1)
    }

    @Test func `the error of a file that could be salvaged says so`() throws {
        let progressive = try recompress(Self.file, JPEGOptions(quality: 90)).bytes
        let files = [
            (Array(Self.file.dropLast(60)), true), (Array(progressive.dropLast(200)), false),
            (Array(Self.file.prefix(Self.file.count / 4)), false),
        ]
        for (file, isSalvageable) in files {
            let error = #expect(throws: JPEGError.self) { try recompress(file, .maxBytes(.bytes(4_000))) }
            #expect(error?.code == .truncated, "\(error?.message ?? "")")
            #expect(error?.message.contains("set onFailure to .salvage") == isSalvageable, "\(error?.message ?? "")")
        }
    }

    @Test func `a damaged file that would fit is decoded instead of kept`() throws {
        let result = try recompress(Array(Self.file.dropLast(60)), Self.options(.best, 1_000_000))
        #expect(!result.report.isPassedThrough && result.report.damagedFraction > 0)
    }

    @Test func `damage within the data may be anywhere`() throws {
        var damaged = Self.file
        for index in damaged.count / 2..<damaged.count / 2 + 40 { damaged[index] = 0x5A }
        #expect(failure(damaged, JPEGOptions(maxBytes: .bytes(4_000))) == .corrupt)
        #expect(try recompress(damaged, Self.options()).report.damagedFraction == 1)
    }

    @Test func `a progressive file is an error`() throws {
        let progressive = try recompress(Self.file, JPEGOptions(quality: 90)).bytes
        #expect(try JPEGHeader(parsing: progressive).process == .progressive)
        #expect(failure(Array(progressive.dropLast(200)), Self.options()) == .truncated)
    }
}
