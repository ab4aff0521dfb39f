/// Why a picture could not be recompressed.
///
/// ``code`` is for programs, ``message`` for people: it says what is wrong and what to do. Nothing is returned or
/// written when it is thrown; a damaged picture never passes as a whole one.
public struct JPEGError: Error, Sendable {
    /// A kind of failure. Open: new ones may come with any release, so give a `switch` a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name, as it is printed.
        public let description: String
        package init(_ name: String) { description = name }
    }

    /// What kind of failure it is.
    public var code: Code
    /// What went wrong, and the remedy.
    public var message: String
    /// The error underneath, when there is one.
    public var cause: (any Error)?
    /// With ``Code/cannotReachLimit``, the fewest bytes that were reached.
    public var smallestBytes: Int?

    /// Describes a failure.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil, smallestBytes: Int? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
        self.smallestBytes = smallestBytes
    }

    /// Whether the caller cancelled.
    public var isCancelled: Bool { code == .cancelled }
}

extension JPEGError.Code {
    /// There are no bytes.
    public static let empty = Self("empty")
    /// The bytes don't begin as a JPEG file does.
    public static let notAJPEG = Self("notAJPEG")
    /// The file ends before the picture does.
    public static let truncated = Self("truncated")
    /// The file breaks the format's rules, or its picture data is damaged.
    public static let corrupt = Self("corrupt")
    /// Width or height is zero, or given only behind the picture data (a DNL segment).
    public static let noPixels = Self("noPixels")
    /// More pixels than are decoded: 100 megapixels, 40 for progressive files, 65,500 a side.
    public static let tooManyPixels = Self("tooManyPixels")
    /// More bytes than are read: 40 MB.
    public static let tooManyBytes = Self("tooManyBytes")
    /// More than 100 scans: a file made to keep decoders busy.
    public static let tooManyScans = Self("tooManyScans")
    /// Samples are not 8 bits deep.
    public static let unsupportedPrecision = Self("unsupportedPrecision")
    /// The coding process is lossless or hierarchical.
    public static let unsupportedProcess = Self("unsupportedProcess")
    /// The picture has 2 components, or more than 4.
    public static let unsupportedComponents = Self("unsupportedComponents")
    /// No picture of this kind fits the limit; the message names the smallest that was made.
    public static let cannotReachLimit = Self("cannotReachLimit")
    /// An option is out of range.
    public static let invalidOptions = Self("invalidOptions")
    /// There are too few bytes for the pixels that were announced.
    public static let invalidPixels = Self("invalidPixels")
    /// There is a file of that name already, and it was not said that it may be replaced.
    public static let fileExists = Self("fileExists")
    /// The file can't be made or written.
    public static let fileNotWritable = Self("fileNotWritable")
    /// There is no file of that name.
    public static let fileNotFound = Self("fileNotFound")
    /// The path leads to a directory, a device or a pipe.
    public static let notARegularFile = Self("notARegularFile")
    /// The file can't be opened or read.
    public static let fileNotReadable = Self("fileNotReadable")
    /// Memory ran out.
    public static let outOfMemory = Self("outOfMemory")
    /// Cancelled by the caller.
    public static let cancelled = Self("cancelled")
}

extension JPEGError: CustomStringConvertible {
    /// One line: code and message.
    public var description: String { "\(code): \(message)" }
}
