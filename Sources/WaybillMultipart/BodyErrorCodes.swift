// Codes of bodies on their way out.
extension BodyError.Code {
    /// A part has no name.
    public static let emptyFieldName = Self("emptyFieldName")
    /// A field name holds a NUL.
    public static let invalidFieldName = Self("invalidFieldName")
    /// A file name holds a NUL.
    public static let invalidFileName = Self("invalidFileName")
    /// A content type is empty or holds a control character.
    public static let invalidContentType = Self("invalidContentType")
    /// A header of a part is not allowed, has no valid name, or holds a control character.
    public static let invalidHeader = Self("invalidHeader")
    /// A boundary is not 1–70 allowed characters.
    public static let invalidBoundary = Self("invalidBoundary")
    /// The boundary occurs in the content of a part, where it would cut the part short.
    public static let boundaryInContent = Self("boundaryInContent")
    /// A value is nested deeper than allowed; mostly it contains itself.
    public static let nestedTooDeep = Self("nestedTooDeep")
    /// A value can't be encoded, as JSON or as fields; see ``BodyError/cause``.
    public static let encodingFailed = Self("encodingFailed")
    /// The content of a part could not be made; see ``BodyError/cause``.
    public static let preparationFailed = Self("preparationFailed")
    /// No file is there.
    public static let fileNotFound = Self("fileNotFound")
    /// The path leads to a directory, a FIFO, a device or a socket, or to a file that doesn't know its length.
    public static let notARegularFile = Self("notARegularFile")
    /// The file may not be opened.
    public static let fileNotReadable = Self("fileNotReadable")
    /// The bytes asked for are not all in the file.
    public static let invalidRange = Self("invalidRange")
    /// A stream doesn't know its length, and the form may not be sent without one.
    public static let unknownLength = Self("unknownLength")
    /// There is no room for the temporary file of a stream.
    public static let diskFull = Self("diskFull")
    /// A part is larger than ``FormLimits`` allow.
    public static let partTooLarge = Self("partTooLarge")
    /// The form is larger than ``FormLimits`` allow.
    public static let formTooLarge = Self("formTooLarge")
    /// A part holds something else than ``FormLimits/allowedTypes``.
    public static let typeNotAllowed = Self("typeNotAllowed")
    /// The file is not what it was when the length was promised; ``BodyError/cause`` is a ``SourceChange``.
    public static let sourceChanged = Self("sourceChanged")
    /// The file could not be read to its end.
    public static let readFailed = Self("readFailed")
    /// A stream failed before its end; see ``BodyError/cause``.
    public static let streamFailed = Self("streamFailed")
    /// A stream gave fewer bytes than declared.
    public static let tooFewBytes = Self("tooFewBytes")
    /// A stream gave more bytes than declared.
    public static let tooManyBytes = Self("tooManyBytes")
    /// A one-shot body was asked for a second reader.
    public static let bodyNotReplayable = Self("bodyNotReplayable")
    /// A reader was used after it was closed.
    public static let readerClosed = Self("readerClosed")
    /// A file is to be written where something is already.
    public static let fileExists = Self("fileExists")
    /// A file could not be written.
    public static let writeFailed = Self("writeFailed")
    /// The task was cancelled.
    public static let cancelled = Self("cancelled")
}

// Codes of bodies on their way in. `invalidBoundary` and `headerTooLarge` serve both ways.
extension BodyError.Code {
    /// The headers of a part are larger than allowed.
    public static let headerTooLarge = Self("headerTooLarge")
    /// The content type is not `multipart/form-data` with one boundary.
    public static let notMultipart = Self("notMultipart")
    /// A header of a part breaks the grammar.
    public static let malformedHeader = Self("malformedHeader")
    /// A part has no `Content-Disposition: form-data` with a name.
    public static let missingName = Self("missingName")
    /// A header or parameter that must be unique stands twice.
    public static let duplicateHeader = Self("duplicateHeader")
    /// Something follows the closing boundary on its line.
    public static let malformedDelimiter = Self("malformedDelimiter")
    /// The body ended before its closing boundary.
    public static let truncatedBody = Self("truncatedBody")
    /// More parts than allowed.
    public static let tooManyParts = Self("tooManyParts")
    /// More header lines in a part than allowed.
    public static let tooManyHeaderLines = Self("tooManyHeaderLines")
    /// More parameters in a `Content-Disposition` than allowed.
    public static let tooManyParameters = Self("tooManyParameters")
    /// More bytes before the first boundary than allowed.
    public static let preambleTooLarge = Self("preambleTooLarge")
    /// More blanks after a boundary than allowed.
    public static let paddingTooLong = Self("paddingTooLong")
    /// A field that is no file is larger than allowed.
    public static let fieldTooLarge = Self("fieldTooLarge")
    /// A file that came with a form, or all of them together, is larger than allowed.
    public static let fileTooLarge = Self("fileTooLarge")
    /// The body is larger than allowed.
    public static let bodyTooLarge = Self("bodyTooLarge")
    /// The parser was fed after its end.
    public static let parserFinished = Self("parserFinished")
    /// A part was read after the form had gone on to the next one.
    public static let partPassed = Self("partPassed")
    /// Two tasks read the same form at once.
    public static let simultaneousReads = Self("simultaneousReads")
}

extension BodyError {
    /// The status with which a server answers a form that it could not receive: 413 for every limit, 415 for what is no form,
    /// 507 for a full disk, 500 for what is the server's own fault, 400 for the rest.
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
