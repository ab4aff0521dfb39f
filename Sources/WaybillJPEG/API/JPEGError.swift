/// An error that occurs while an image is recompressed.
///
/// Use ``code`` in programs and ``message`` for people: the message describes the failure. When it is thrown, nothing is
/// returned or written.
public struct JPEGError: Error, Sendable {
    /// An error code. The set is open: releases may add new codes, so include a `default` in a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code, as printed.
        public let description: String
        package init(_ name: String) { description = name }
    }

    /// The error code.
    public var code: Code
    /// A description of the failure and the remedy.
    public var message: String
    /// The underlying error, if any.
    public var cause: (any Error)?
    /// For ``Code/cannotReachLimit``, the smallest limit in bytes that the image fits. Larger limits are met, too.
    public var smallestBytes: Int?

    /// Creates an error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil, smallestBytes: Int? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
        self.smallestBytes = smallestBytes
    }

    /// Whether the work was cancelled.
    public var isCancelled: Bool { code == .cancelled }
}

extension JPEGError.Code {
    /// The input has no bytes.
    public static let empty = Self("empty")
    /// The input is neither a JPEG file nor one of the other formats that are enabled: PNG and WebP by the trait `Images`,
    /// HEIC by ``JPEGOptions/heicDecoder``.
    public static let notAJPEG = Self("notAJPEG")
    /// The file ends before the image does.
    public static let truncated = Self("truncated")
    /// The file violates the JPEG format, or its image data is damaged.
    public static let corrupt = Self("corrupt")
    /// Width or height is zero, or the height is given only after the image data (a DNL segment).
    public static let noPixels = Self("noPixels")
    /// The image has more pixels than are decoded: 268 megapixels, 65,500 per side; 64 megapixels in a progressive JPEG
    /// (fewer if its coefficients need more than 256 MiB), interlaced PNG or lossy WebP file; 32 in a lossless or
    /// transparent WebP file, which may have at most 4,096 groups of Huffman codes.
    public static let tooManyPixels = Self("tooManyPixels")
    /// The file has more bytes than are read: 100 MB.
    public static let tooManyBytes = Self("tooManyBytes")
    /// The file has more than 100 scans, as files do that are made to keep decoders busy.
    public static let tooManyScans = Self("tooManyScans")
    /// The samples do not have 8 bits.
    public static let unsupportedPrecision = Self("unsupportedPrecision")
    /// The coding process is lossless or hierarchical.
    public static let unsupportedProcess = Self("unsupportedProcess")
    /// The image has 2 components, or more than 4.
    public static let unsupportedComponents = Self("unsupportedComponents")
    /// The image cannot be made to fit the limit; the message gives the smallest limit that it fits.
    public static let cannotReachLimit = Self("cannotReachLimit")
    /// An option is out of range.
    public static let invalidOptions = Self("invalidOptions")
    /// There are too few bytes for the declared number of pixels.
    public static let invalidPixels = Self("invalidPixels")
    /// The file exists, and replacing it was not allowed.
    public static let fileExists = Self("fileExists")
    /// The file cannot be created or written.
    public static let fileNotWritable = Self("fileNotWritable")
    /// The file does not exist.
    public static let fileNotFound = Self("fileNotFound")
    /// The path refers to a directory, a device or a pipe.
    public static let notARegularFile = Self("notARegularFile")
    /// The file cannot be opened or read.
    public static let fileNotReadable = Self("fileNotReadable")
    /// The program that decodes HEIC images (``JPEGOptions/heicDecoder``) could not decode the image, exceeded a limit, or
    /// wrote no usable image.
    public static let decoderFailed = Self("decoderFailed")
    /// The program that decodes HEIC images is not installed, or cannot be started or confined on this system.
    public static let decoderUnavailable = Self("decoderUnavailable")
    /// There is not enough memory.
    public static let outOfMemory = Self("outOfMemory")
    /// The caller cancelled the work.
    public static let cancelled = Self("cancelled")
}

extension JPEGError: CustomStringConvertible {
    /// One line with code and message.
    public var description: String { "\(code): \(message)" }
}
