import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite struct ForeignFormatTests {
    struct Format: Sendable, CustomTestStringConvertible {
        let start: [UInt8]
        let name: String
        let remedy: String
        var testDescription: String { name }

        init(_ start: String, _ name: String, _ remedy: String) {
            (self.start, self.name, self.remedy) = (start.unicodeScalars.map { UInt8($0.value) }, name, remedy)
        }
    }

    static let formats = [
        Format("\0\0\0\u{18}ftypheic\0\0\0\0", "a HEIC image", "heicDecoder"),
        Format("\0\0\0\u{18}ftypmif1\0\0\0\0", "a HEIC image", "heicDecoder"),
        Format("\0\0\0\u{18}ftypavif\0\0\0\0", "an AVIF image", "avifdec"),
        Format("\0\0\0\u{18}ftypmp42\0\0\0\0", "a video or a rare kind of image", "JPEG"),
        Format("GIF89a", "a GIF image", "JPEG"), Format("%PDF-1.7", "a PDF document", "pdftoppm"),
        Format("II*\0", "a TIFF image or a raw photo", "ImageMagick"),
        Format("MM\0*", "a TIFF image or a raw photo", "ImageMagick"), Format("BM6\0", "a BMP image", "JPEG"),
        Format("\u{FF}\n", "a JPEG XL image", "djxl"), Format("\0\0\0\u{0C}JXL \r\n", "a JPEG XL image", "djxl"),
        Format("\0\0\0\u{0C}jP  \r\n", "a JPEG 2000 image", "opj_decompress"),
    ]

    @Test(arguments: formats)
    func `another format is named with a remedy`(format: Format) throws {
        let error = #expect(throws: JPEGError.self) { try recompress(format.start, .quality(90)) }
        let message = try #require(error?.message)
        #expect(error?.code == .notAJPEG)
        #expect(message.hasPrefix("The input is \(format.name), not a JPEG, PNG or WebP file. "), "\(message)")
        #expect(message.contains(format.remedy) && message.hasSuffix("."), "\(message)")
        for length in 1..<format.start.count { #expect(failure(Array(format.start[..<length])) != nil) }
    }

    @Test func `unknown bytes have an error without a format`() {
        let error = #expect(throws: JPEGError.self) { try recompress(Array("hello".utf8), .quality(90)) }
        #expect(error?.message == "The input is not a JPEG, PNG or WebP file. Check the file.")
    }

    @Test func `a file that merely begins like RIFF is no WebP`() {
        #expect(failure(Array("RIFF\0\0\0\0WAVEfmt ".utf8)) == .notAJPEG)
        #expect(failure(Array("RIFF\u{4}\0\0\0WEBP".utf8)) == .truncated)
    }
}
