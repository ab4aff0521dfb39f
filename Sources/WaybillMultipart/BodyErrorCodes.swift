// Error codes of outgoing bodies.
extension BodyError.Code {
    /// A part has no name.
    public static let emptyFieldName = Self("emptyFieldName")
    /// A field name contains a NUL.
    public static let invalidFieldName = Self("invalidFieldName")
    /// A file name contains a NUL.
    public static let invalidFileName = Self("invalidFileName")
    /// A content type is empty or contains a control character.
    public static let invalidContentType = Self("invalidContentType")
    /// A header of a part is not allowed, has no valid name, or contains a control character.
    public static let invalidHeader = Self("invalidHeader")
    /// A boundary is not 1–70 allowed characters.
    public static let invalidBoundary = Self("invalidBoundary")
    /// The boundary occurs in the content of a part, where it would end the part early.
    public static let boundaryInContent = Self("boundaryInContent")
    /// A value is nested deeper than allowed, usually because it contains itself.
    public static let nestedTooDeep = Self("nestedTooDeep")
    /// A value can't be encoded, as JSON or as fields; see ``BodyError/cause``.
    public static let encodingFailed = Self("encodingFailed")
    /// The content of a part could not be prepared; see ``BodyError/cause``.
    public static let preparationFailed = Self("preparationFailed")
    /// The file does not exist.
    public static let fileNotFound = Self("fileNotFound")
    /// The path refers to a directory, a FIFO, a device or a socket, or to a file that does not report its length.
    public static let notARegularFile = Self("notARegularFile")
    /// The file cannot be opened for reading.
    public static let fileNotReadable = Self("fileNotReadable")
    /// The requested byte range exceeds the file.
    public static let invalidRange = Self("invalidRange")
    /// The length of a stream is unknown, and the form may not be sent without a length.
    public static let unknownLength = Self("unknownLength")
    /// There is no space for a temporary file or a received file.
    public static let diskFull = Self("diskFull")
    /// A part is larger than ``FormLimits`` allow.
    public static let partTooLarge = Self("partTooLarge")
    /// The form is larger than ``FormLimits`` allow.
    public static let formTooLarge = Self("formTooLarge")
    /// A part has a type that ``FormLimits/allowedTypes`` does not contain.
    public static let typeNotAllowed = Self("typeNotAllowed")
    /// The file has changed since its length was determined; ``BodyError/cause`` is a ``SourceChange``.
    public static let sourceChanged = Self("sourceChanged")
    /// The file could not be read to its end.
    public static let readFailed = Self("readFailed")
    /// A stream failed before its end; see ``BodyError/cause``.
    public static let streamFailed = Self("streamFailed")
    /// A stream yielded fewer bytes than declared.
    public static let tooFewBytes = Self("tooFewBytes")
    /// A stream yielded more bytes than declared.
    public static let tooManyBytes = Self("tooManyBytes")
    /// A second reader was requested for a one-shot body.
    public static let bodyNotReplayable = Self("bodyNotReplayable")
    /// A reader was used after it was closed.
    public static let readerClosed = Self("readerClosed")
    /// The file cannot be written because its path already exists.
    public static let fileExists = Self("fileExists")
    /// A file could not be written.
    public static let writeFailed = Self("writeFailed")
    /// The task was cancelled.
    public static let cancelled = Self("cancelled")
}

// Error codes of incoming bodies. `invalidBoundary` and `headerTooLarge` are used in both directions.
extension BodyError.Code {
    /// The headers of a part are larger than allowed.
    public static let headerTooLarge = Self("headerTooLarge")
    /// The content type is not `multipart/form-data` with one boundary.
    public static let notMultipart = Self("notMultipart")
    /// A header of a part violates the grammar.
    public static let malformedHeader = Self("malformedHeader")
    /// A part has no `Content-Disposition: form-data` with a name.
    public static let missingName = Self("missingName")
    /// A header or parameter that must be unique occurs twice.
    public static let duplicateHeader = Self("duplicateHeader")
    /// The line of the closing boundary contains other characters.
    public static let malformedDelimiter = Self("malformedDelimiter")
    /// The body ended before its closing boundary.
    public static let truncatedBody = Self("truncatedBody")
    /// The form has more parts than allowed.
    public static let tooManyParts = Self("tooManyParts")
    /// A part has more header lines than allowed.
    public static let tooManyHeaderLines = Self("tooManyHeaderLines")
    /// A `Content-Disposition` has more parameters than allowed.
    public static let tooManyParameters = Self("tooManyParameters")
    /// More bytes than allowed precede the first boundary.
    public static let preambleTooLarge = Self("preambleTooLarge")
    /// More whitespace than allowed follows a boundary.
    public static let paddingTooLong = Self("paddingTooLong")
    /// A field that is not a file is larger than allowed.
    public static let fieldTooLarge = Self("fieldTooLarge")
    /// A received file, or all files of a form together, is larger than allowed.
    public static let fileTooLarge = Self("fileTooLarge")
    /// The body is larger than allowed.
    public static let bodyTooLarge = Self("bodyTooLarge")
    /// The parser was used after its end.
    public static let parserFinished = Self("parserFinished")
    /// A part was read after the form advanced to the next part.
    public static let partPassed = Self("partPassed")
    /// Two tasks read the same form concurrently.
    public static let simultaneousReads = Self("simultaneousReads")
}

extension BodyError {
    /// The HTTP status for a server's response to a form that it could not receive: 413 for every limit, 415 for a body
    /// that is not a form, 507 for a full disk, 500 for an error of the server itself, 400 otherwise.
    public var responseStatus: Int {
        switch code {
        case .headerTooLarge, .tooManyParts, .tooManyHeaderLines, .tooManyParameters, .preambleTooLarge,
            .paddingTooLong,
            .fieldTooLarge, .fileTooLarge, .bodyTooLarge:
            413
        case .notMultipart: 415
        case .diskFull: 507
        case .writeFailed, .parserFinished, .partPassed, .simultaneousReads: 500
        default: 400
        }
    }
}
