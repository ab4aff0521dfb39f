import WaybillCore

/// The format of a file, as determined by its first bytes, whatever its name.
enum ImageFormat {
    case jpeg, png, webP, heic

    /// - Parameters:
    ///   - bytes: The file.
    ///   - decodesHEIC: Whether the caller has a decoder for HEIC.
    /// - Throws: ``JPEGError/Code/empty`` or ``JPEGError/Code/notAJPEG``, with the name of the format if it is known.
    init(of bytes: [UInt8], decodesHEIC: Bool = false) throws(JPEGError) {
        guard !bytes.isEmpty else { throw JPEGError(.empty, "The input is empty. Check the file.") }
        if bytes.starts(with: [0xFF, 0xD8]) {
            self = .jpeg
        } else if Self.isEnabled, bytes.starts(with: PNGHeader.signature) {
            self = .png
        } else if Self.isEnabled, Self.isWebP(bytes) {
            self = .webP
        } else if decodesHEIC, Self.isHEIC(bytes) {
            self = .heic
        } else {
            throw Self.unsupported(bytes)
        }
    }

    #if Images
        static let isEnabled = true
    #else
        static let isEnabled = false
    #endif

    private static func isWebP(_ bytes: [UInt8]) -> Bool { has(bytes, "RIFF") && has(bytes, "WEBP", at: 8) }

    /// Whether the brand of the ISO base media file format is one of HEIC.
    private static func isHEIC(_ bytes: [UInt8]) -> Bool {
        has(bytes, "ftyp", at: 4)
            && ["heic", "heix", "heim", "heis", "hevc", "mif1", "msf1"].contains { has(bytes, $0, at: 8) }
    }

    private static func has(_ bytes: [UInt8], _ text: String, at offset: Int = 0) -> Bool {
        bytes.dropFirst(offset).starts(with: text.utf8)
    }

    private static func unsupported(_ bytes: [UInt8]) -> JPEGError {
        let wanted = isEnabled ? "a JPEG, PNG or WebP file" : "a JPEG file"
        guard let (name, remedy) = guess(bytes) else {
            return JPEGError(.notAJPEG, "The input is not \(wanted). Check the file.")
        }
        return JPEGError(.notAJPEG, "The input is \(name), not \(wanted). \(remedy)")
    }

    /// Returns the name and the remedy for a format that is easy to recognize.
    private static func guess(_ bytes: [UInt8]) -> (name: String, remedy: String)? {
        if bytes.starts(with: PNGHeader.signature) { return ("a PNG image", trait) }
        if isWebP(bytes) { return ("a WebP image", trait) }
        if has(bytes, "ftyp", at: 4) { return guessMedia(bytes) }
        if has(bytes, "GIF8") { return ("a GIF image", "Save it as a JPEG first.") }
        if has(bytes, "%PDF") { return ("a PDF document", "Convert its page first, such as with pdftoppm -jpeg.") }
        if has(bytes, "II*\0") || has(bytes, "MM\0*") {
            return ("a TIFF image or a raw photo", "Convert it first, such as with ImageMagick.")
        }
        if has(bytes, "BM") { return ("a BMP image", "Save it as a JPEG first.") }
        if bytes.starts(with: [0xFF, 0x0A]) || has(bytes, "JXL ", at: 4) {
            return ("a JPEG XL image", "Convert it first with djxl.")
        }
        if has(bytes, "jP  ", at: 4) { return ("a JPEG 2000 image", "Convert it first with opj_decompress.") }
        return nil
    }

    /// Distinguishes the formats of the ISO base media file format by their brand.
    private static func guessMedia(_ bytes: [UInt8]) -> (name: String, remedy: String) {
        if isHEIC(bytes) { return ("a HEIC image", "\(Remedy.decodeHEIC)") }
        return switch String(decoding: bytes.dropFirst(8).prefix(4), as: UTF8.self) {
        case "avif", "avis": ("an AVIF image", "Convert it first with avifdec.")
        default: ("a video or a rare kind of image", "Convert it to a JPEG first.")
        }
    }

    private static let trait = "Enable the trait Images of Waybill, or convert it first."
}
