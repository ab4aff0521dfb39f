extension UploadError.Code {
    // Session

    /// The server responded with a status that is not accepted. The response is in ``UploadError/response``.
    public static let rejected = Self("rejected")
    /// The response was a redirect that was followed. Appears only in the list of attempts.
    public static let redirected = Self("redirected")
    /// A redirect was not followed: it has no location, its scheme is neither `http` nor `https`, or it leads from
    /// `https` to `http`.
    public static let redirectRefused = Self("redirectRefused")
    /// The server responded with 301 or 302 to a request with a body. Whether the body is to be sent again is
    /// ambiguous: see ``RedirectPolicy``.
    public static let redirectWouldDropBody = Self("redirectWouldDropBody")
    /// A redirect leads to a URL to which the upload was already sent.
    public static let redirectLoop = Self("redirectLoop")
    /// The number of redirects exceeds ``RedirectPolicy/maxHops``.
    public static let tooManyRedirects = Self("tooManyRedirects")
    /// Refreshing the credential failed. The cause is the error of the ``CredentialRefresher``.
    public static let credentialRefreshFailed = Self("credentialRefreshFailed")
    /// The status indicates success, but the response body reports a failure. Code and message are in
    /// ``UploadError/envelope``.
    public static let envelopeRejected = Self("envelopeRejected")
    /// An ``UploadInterceptor`` failed. The message has its name, the cause is its error.
    public static let interceptorFailed = Self("interceptorFailed")
    /// An ``UploadInterceptor`` took longer than ``UploadSession/Configuration/interceptorLimit``.
    public static let interceptorTimedOut = Self("interceptorTimedOut")
    /// The response body asked for a retry. Used only internally, before the policy decides about the next attempt.
    static let envelopeAskedForRetry = Self("envelopeAskedForRetry")
    /// The session was closed before the upload was started.
    public static let sessionClosed = Self("sessionClosed")
    /// The response was accepted, but it is not the expected JSON.
    public static let decodingFailed = Self("decodingFailed")
    /// A custom body or part failed with an error of unknown type.
    public static let preparationFailed = Self("preparationFailed")
    /// Every ticket expired before the file was sent, or the backend returned an expired ticket again. See
    /// ``TicketedUpload``.
    public static let ticketExpired = Self("ticketExpired")
    /// A put may have stored the object of a ``TicketedUpload``, and the next ticket is for another object.
    public static let ticketForOtherObject = Self("ticketForOtherObject")

    // Resumable uploads

    /// The server does not support the requested protocol of resumable uploads, or the body can't be sent in parts.
    public static let resumptionUnsupported = Self("resumptionUnsupported")
    /// The server's responses about a resumable upload are contradictory, or the upload no longer exists. The message
    /// says which.
    public static let resumptionFailed = Self("resumptionFailed")
    /// The record of a resumable upload, or the directory of the records, can't be used.
    public static let recordUnusable = Self("recordUnusable")
    /// The body is longer than the server accepts for a resumable upload.
    public static let uploadTooLarge = Self("uploadTooLarge")
    /// The server has processed the upload, but its response was lost. With the outcome
    /// ``WaybillCore/UploadOutcome/unknown``, it may have joined the parts of an earlier process
    /// (``ResumeOptions/parallelParts``).
    public static let responseLost = Self("responseLost")

    // Request and transfer (`TransferError.Code`)

    /// The URL is malformed, or its scheme is neither `http` nor `https`.
    public static let invalidURL = Self("invalidURL")
    /// A header field or another value of the request is invalid. The message names it.
    public static let invalidRequest = Self("invalidRequest")
    /// The host name can't be resolved.
    public static let hostNotFound = Self("hostNotFound")
    /// The connection was refused, or the host can't be reached.
    public static let cannotConnect = Self("cannotConnect")
    /// No file descriptor or thread is available.
    public static let resourcesExhausted = Self("resourcesExhausted")
    /// The connection was not established in time.
    public static let connectTimeout = Self("connectTimeout")
    /// The peer stopped accepting bytes.
    public static let stalled = Self("stalled")
    /// The body was sent, and no complete response arrived in time.
    public static let responseTimeout = Self("responseTimeout")
    /// The limit for the whole attempt was exceeded.
    public static let totalTimeout = Self("totalTimeout")
    /// The connection was lost.
    public static let connectionLost = Self("connectionLost")
    /// The peer closed the connection before or during the response.
    public static let responseIncomplete = Self("responseIncomplete")
    /// The server responded with success before it had received the whole body.
    public static let bodyNotTaken = Self("bodyNotTaken")
    /// The response is not valid HTTP.
    public static let malformedResponse = Self("malformedResponse")
    /// The response is larger than allowed.
    public static let responseTooLarge = Self("responseTooLarge")
    /// The TLS handshake failed.
    public static let tlsFailed = Self("tlsFailed")
    /// The certificate of the peer is not trusted.
    public static let certificateNotTrusted = Self("certificateNotTrusted")
    /// A certificate, a key or a certificate authority of the options can't be used.
    public static let tlsSettingsUnusable = Self("tlsSettingsUnusable")
    /// The proxy refused the request, or could not reach the server.
    public static let proxyFailed = Self("proxyFailed")
    /// The body could not be read to its end.
    public static let bodyFailed = Self("bodyFailed")
    /// The body would have to be sent again within one attempt.
    public static let resendRefused = Self("resendRefused")
    /// The attempt was closed because the upload was paused for longer than
    /// ``UploadSession/Configuration/pauseKeepsSlot``. Appears in the list of attempts. It is the error of an upload
    /// only if the whole body was sent at that moment, so that sending it again could store it twice.
    public static let paused = Self("paused")
    /// The upload was cancelled by the caller or by closing the session.
    public static let cancelled = Self("cancelled")
    /// Any other error. The message contains the one of libcurl.
    public static let other = Self("other")

    // Body (`BodyError.Code`)

    /// The file does not exist.
    public static let fileNotFound = Self("fileNotFound")
    /// The path is a directory, FIFO or device instead of a regular file.
    public static let notARegularFile = Self("notARegularFile")
    /// The file is not readable.
    public static let fileNotReadable = Self("fileNotReadable")
    /// The file shrank, grew or was replaced while it was sent.
    public static let sourceChanged = Self("sourceChanged")
    /// Reading failed.
    public static let readFailed = Self("readFailed")
    /// A part has no name.
    public static let emptyFieldName = Self("emptyFieldName")
    /// The content type is not valid in a header.
    public static let invalidContentType = Self("invalidContentType")
    /// The length of a stream is unknown, and the form must not be sent without one.
    public static let unknownLength = Self("unknownLength")
    /// A stream failed before its end.
    public static let streamFailed = Self("streamFailed")
    /// A stream produced fewer bytes than declared.
    public static let tooFewBytes = Self("tooFewBytes")
    /// There is not enough space for the temporary file of a stream.
    public static let diskFull = Self("diskFull")
    /// A part is larger than the limits of the form allow.
    public static let partTooLarge = Self("partTooLarge")
    /// The form is larger than its limits allow.
    public static let formTooLarge = Self("formTooLarge")
    /// The content of a part has a type that the limits of the form don't allow.
    public static let typeNotAllowed = Self("typeNotAllowed")
    /// A body that can be read once was requested a second time.
    public static let bodyNotReplayable = Self("bodyNotReplayable")

    // Images (`JPEGError.Code`)

    /// The image has a format that is not accepted.
    public static let notAJPEG = Self("notAJPEG")
    /// The image file is empty.
    public static let empty = Self("empty")
    /// The image file ends too early.
    public static let truncated = Self("truncated")
    /// The image file is damaged.
    public static let corrupt = Self("corrupt")
    /// The image has more pixels than allowed.
    public static let tooManyPixels = Self("tooManyPixels")
    /// The program that decodes HEIC images could not decode the image, or exceeded a limit.
    public static let decoderFailed = Self("decoderFailed")
    /// The program that decodes HEIC images can't be started or confined.
    public static let decoderUnavailable = Self("decoderUnavailable")
    /// The image can't be compressed below the limit.
    public static let cannotReachLimit = Self("cannotReachLimit")
}
