extension UploadError.Code {
    // Of the session.

    /// The server answered with a status that is not accepted; the answer is in ``UploadError/response``.
    public static let rejected = Self("rejected")
    /// The answer was a redirect that was followed. Only in the list of attempts.
    public static let redirected = Self("redirected")
    /// A redirect that is not followed: without a location, to another scheme than `http` and `https`, or from `https` to
    /// `http`.
    public static let redirectRefused = Self("redirectRefused")
    /// 301 or 302 after a body, which may mean either with or without it: see ``RedirectPolicy``.
    public static let redirectWouldDropBody = Self("redirectWouldDropBody")
    /// A redirect to a place where the upload had been sent already.
    public static let redirectLoop = Self("redirectLoop")
    /// More redirects than ``RedirectPolicy/maxHops``.
    public static let tooManyRedirects = Self("tooManyRedirects")
    /// No fresh credential could be had; the cause is the error of the ``CredentialRefresher``.
    public static let credentialRefreshFailed = Self("credentialRefreshFailed")
    /// The status was a yes, and the body says no: ``UploadError/envelope`` has code and message.
    public static let envelopeRejected = Self("envelopeRejected")
    /// An ``UploadInterceptor`` failed; the message has its name, the cause is its error.
    public static let interceptorFailed = Self("interceptorFailed")
    /// An ``UploadInterceptor`` took longer than ``UploadSession/Configuration/interceptorLimit``.
    public static let interceptorTimedOut = Self("interceptorTimedOut")
    /// The body said "not now". Only between an attempt and the policy that decides about the next.
    static let envelopeAskedForRetry = Self("envelopeAskedForRetry")
    /// The session was closed before the upload was started.
    public static let sessionClosed = Self("sessionClosed")
    /// The answer was accepted, but it is not the JSON that was asked for.
    public static let decodingFailed = Self("decodingFailed")
    /// A body or a part of the caller's own making failed with an error that Waybill doesn't know.
    public static let preparationFailed = Self("preparationFailed")

    // Of the request and its transfer (`TransferError.Code`).

    /// The URL can't be used: malformed, or not `http` or `https`.
    public static let invalidURL = Self("invalidURL")
    /// A header field or another value of the request is refused; the message names it.
    public static let invalidRequest = Self("invalidRequest")
    /// The host's name has no address.
    public static let hostNotFound = Self("hostNotFound")
    /// Nobody listens, or the way there is closed.
    public static let cannotConnect = Self("cannotConnect")
    /// No file descriptor or no thread is free.
    public static let resourcesExhausted = Self("resourcesExhausted")
    /// The connection was not ready in time.
    public static let connectTimeout = Self("connectTimeout")
    /// The peer stopped taking bytes.
    public static let stalled = Self("stalled")
    /// The body was taken, and no whole answer came in time.
    public static let responseTimeout = Self("responseTimeout")
    /// The limit for the whole attempt ran out.
    public static let totalTimeout = Self("totalTimeout")
    /// The connection broke.
    public static let connectionLost = Self("connectionLost")
    /// The peer closed without an answer, or in the middle of it.
    public static let responseIncomplete = Self("responseIncomplete")
    /// The server said yes before it had taken the whole body.
    public static let bodyNotTaken = Self("bodyNotTaken")
    /// The answer is not HTTP, or breaks its rules.
    public static let malformedResponse = Self("malformedResponse")
    /// The answer is larger than allowed.
    public static let responseTooLarge = Self("responseTooLarge")
    /// TLS could not be agreed on.
    public static let tlsFailed = Self("tlsFailed")
    /// The peer's certificate is not trusted.
    public static let certificateNotTrusted = Self("certificateNotTrusted")
    /// A certificate, a key or an authority of the options can't be used.
    public static let tlsSettingsUnusable = Self("tlsSettingsUnusable")
    /// The proxy refused, or could not reach the server.
    public static let proxyFailed = Self("proxyFailed")
    /// The body could not be read to its end.
    public static let bodyFailed = Self("bodyFailed")
    /// The body would have had to be sent again within one attempt.
    public static let resendRefused = Self("resendRefused")
    /// The attempt was closed because the upload was paused for longer than
    /// ``UploadSession/Configuration/pauseKeepsSlot``. In the list of attempts; the error of an upload only when its whole
    /// body had left in that very moment, so that sending it again could store it twice.
    public static let paused = Self("paused")
    /// Cancelled by the caller, or by the closing of the session.
    public static let cancelled = Self("cancelled")
    /// Anything else; the message says what libcurl said.
    public static let other = Self("other")

    // Of the body (`BodyError.Code`).

    /// There is no such file.
    public static let fileNotFound = Self("fileNotFound")
    /// A directory, FIFO or device where a regular file is needed.
    public static let notARegularFile = Self("notARegularFile")
    /// The file may not be read.
    public static let fileNotReadable = Self("fileNotReadable")
    /// The file shrank, grew or was replaced while it was sent.
    public static let sourceChanged = Self("sourceChanged")
    /// Reading failed.
    public static let readFailed = Self("readFailed")
    /// A part has no name.
    public static let emptyFieldName = Self("emptyFieldName")
    /// A content type that can't stand in a header.
    public static let invalidContentType = Self("invalidContentType")
    /// A stream doesn't know its length, and the form may not be sent without one.
    public static let unknownLength = Self("unknownLength")
    /// A stream failed before its end.
    public static let streamFailed = Self("streamFailed")
    /// A stream gave fewer bytes than it was said to have.
    public static let tooFewBytes = Self("tooFewBytes")
    /// There is no room for the temporary file of a stream.
    public static let diskFull = Self("diskFull")
    /// A part is larger than the form's limits allow.
    public static let partTooLarge = Self("partTooLarge")
    /// The form is larger than its limits allow.
    public static let formTooLarge = Self("formTooLarge")
    /// A part holds something that the form's limits don't allow.
    public static let typeNotAllowed = Self("typeNotAllowed")
    /// A body that can be read once was asked for a second time.
    public static let bodyNotReplayable = Self("bodyNotReplayable")

    // Of images (`JPEGError.Code`).

    /// Not a JPEG.
    public static let notAJPEG = Self("notAJPEG")
    /// An empty image file.
    public static let empty = Self("empty")
    /// The image file ends too early.
    public static let truncated = Self("truncated")
    /// The image file is damaged.
    public static let corrupt = Self("corrupt")
    /// The image announces more pixels than are allowed.
    public static let tooManyPixels = Self("tooManyPixels")
    /// The image can't be brought under the limit.
    public static let cannotReachLimit = Self("cannotReachLimit")
}
