import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite struct MetadataTests {
    static let secret = "48.8566N 2.3522E"

    static let file: [UInt8] = {
        let segments = [
            TinyJPEG.jfif, TinyJPEG.exif(orientation: 1),
            TinyJPEG.segment(0xE1, Array("http://ns.adobe.com/x\(secret)".utf8)),
            JPEGHeaderTests.profile("Display P3", true), TinyJPEG.segment(0xED, Array("Photoshop 3.0\0\(secret)".utf8)),
            TinyJPEG.segment(0xFE, Array(secret.utf8)),
        ]
        // A second image appended to the first, as phones do.
        return Scene.file(96, 64, segments: segments, Scene.photo(96, 64)) + [0xFF, 0xD8] + Array(secret.utf8)
    }()

    static let options: [JPEGOptions] = JPEGOptions.Mode.allCases.flatMap { mode in
        [
            JPEGOptions(mode: mode), JPEGOptions(quality: 70, mode: mode), .maxBytes(.bytes(2_000), mode: mode),
            JPEGOptions(maxBytes: .bytes(2_000), quality: 40, mode: mode), .maxBytes(.kibibytes(100), mode: mode),
            JPEGOptions(maxBytes: .bytes(2_000), mode: mode, isDocument: true),
            JPEGOptions(maxPixels: 3_000, mode: mode), JPEGOptions(maxSide: 50, mode: mode),
            JPEGOptions(maxBytes: .bytes(2_000), maxSide: 90, mode: mode, onFailure: .sendOriginal),
        ]
    }

    @Test(arguments: options)
    func `the output contains only the image`(options: JPEGOptions) throws {
        let result = try recompress(Self.file, options)
        let codes = markers(result.bytes).map(\.code)
        #expect(codes.first == 0xE0)
        #expect(codes.filter { (0xE0...0xEF).contains($0) || $0 == 0xFE } == [0xE0])
        #expect(codes.last == 0xD9)
        #expect(Array(result.bytes.suffix(2)) == [0xFF, 0xD9])
        #expect(!contains(result.bytes, Array(Self.secret.utf8)))
        #expect(result.report.stripped == ["Exif", "XMP", "ICC profile", "Photoshop", "comment", "trailing data"])
        #expect(result.report.droppedProfile == "Display P3")
    }

    @Test func `stripping keeps tables and data unchanged`() throws {
        let header = try JPEGHeader(parsing: Self.file)
        let stripped = try #require(MetadataStripper.strip(Self.file, header))
        #expect(!contains(stripped, Array(Self.secret.utf8)))
        let plain = Scene.file(96, 64, Scene.photo(96, 64))
        #expect(stripped == plain)
    }

    @Test func `metadata between scans is removed and named, tables are neither`() throws {
        let plain = try recompress(Scene.photoFile, .quality(60)).bytes
        let xmp = TinyJPEG.segment(0xE1, Array("http://ns.adobe.com/x\(Self.secret)".utf8))
        let comment = TinyJPEG.segment(0xFE, Array(Self.secret.utf8))
        let scans = markers(plain).filter { $0.code == 0xDA }.map(\.offset)
        // Tables precede each scan, also that after the first comment.
        #expect(scans.count > 3 && markers(plain).contains { $0.code == 0xC4 && $0.offset > scans[0] })
        var file = plain
        for (offset, segment) in [(scans[3], comment), (scans[2], xmp), (scans[1], comment)] {
            file.insert(contentsOf: segment, at: offset)
        }
        for options in [JPEGOptions(), .quality(40), .maxBytes(.bytes(3_000), mode: .draft)] {
            let result = try recompress(file + [1, 2], options)
            #expect(result.report.stripped == ["comment", "XMP", "trailing data"])
            #expect(!contains(result.bytes, Array(Self.secret.utf8)))
        }
    }

    @Test func `data after the image is named even after stray bytes in the header`() throws {
        let file = [0xFF, 0xD8] + TinyJPEG.jfif + [0x20, 0x20] + Scene.photoFile.dropFirst(20) + [7, 7, 7]
        let report = try recompress(file, .quality(40)).report
        #expect(report.stripped == ["trailing data"] && report.strayBytes == 2)
    }

    @Test func `a truncated file is stripped completely or not at all`() throws {
        let header = try JPEGHeader(parsing: Self.file)
        for length in stride(from: 0, to: Self.file.count, by: 7) {
            guard let stripped = MetadataStripper.strip(Array(Self.file.prefix(length)), header) else { continue }
            #expect(stripped == MetadataStripper.strip(Self.file, header))
        }
    }

    @Test func `an sRGB profile is dropped without being reported`() throws {
        let segments = [JPEGHeaderTests.profile("sRGB IEC61966-2.1", false)]
        let file = Scene.file(32, 32, segments: segments, Scene.quarters(32, 32))
        let report = try recompress(file, JPEGOptions(quality: 70)).report
        #expect(report.droppedProfile == nil)
        #expect(report.stripped == ["ICC profile"])
    }

    private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: part) }
    }
}
