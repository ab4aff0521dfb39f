import WaybillCore

/// An upload directly to an object store with a ticket: your backend is asked for a URL (usually presigned, and valid
/// for a minute), the file is put there, and a final request confirms it.
///
/// ```swift
/// let ask = UploadRequest(.post, "https://backend.example/tickets", content: .data(Array(#"{"type":"jpg"}"#.utf8)))
/// var upload = TicketedUpload(file: "front.jpg", ask: ask, format: TicketFormat(url: "/data/uploadUrl"))
/// upload.confirm = { stored in
///     UploadRequest(.post, "https://backend.example/files/\(try stored.ticket.value(at: "/data/id"))/confirm")
/// }
/// let result = try await session.run(upload)
/// ```
///
/// The ticket is requested immediately before the file is sent. If it expires before the first byte, or the store
/// reports that it has expired, a new one is requested. The store reports it with the status 401 or 410, or with 400 or
/// 403 and an error code or message that contains the word "expired". `SignatureDoesNotMatch` is an error of the
/// backend that a new ticket would repeat. A put has a priority one step higher than its options say if its ticket
/// expires, so that it precedes requests for further tickets.
///
/// Each step can be repeated:
///
/// - *ask*: Every request has the same `Idempotency-Key` (``idempotencyKey``). The backend must derive the object key
///   from it, and sign a new URL each time. A lost response is harmless, because the request stores no object.
/// - *put*: A second `PUT` of the same bytes to the same key has no further effect (RFC 9110 section 9.2.2). Whether
///   this applies to a form depends on its fields: ``TicketFormat/isRepeatable``. With `If-None-Match` or a rule
///   against overwriting, the store rejects the second request, and the outcome stays unknown. After a put that may
///   have stored the object, a ticket for another object is not used: its URL without the query, or the field `key` of
///   its form, differs.
/// - *confirm*: Has an `Idempotency-Key` of its own. After a lost response it is repeated only if its
///   ``UploadOptions/idempotency`` declares that the backend honours the key.
///
/// To deliver such an upload after a restart, enqueue a ``DurableTicketedUpload``.
public struct TicketedUpload: Sendable {
    /// A step of the upload.
    public enum Step: String, Sendable, Hashable, CaseIterable {
        /// The request to the backend that returns the ticket.
        case ask
        /// The request that sends the file to the store.
        case put
        /// The final request to the backend.
        case confirm
    }

    /// The request for a ticket. Its response must be JSON.
    public var ask: UploadRequest
    /// The positions of the ticket's values in that response.
    public var format: TicketFormat
    /// Creates the final request from the ticket and the store's response; `nil` for no such request.
    public var confirm: (@Sendable (TicketedUploadResult) throws -> UploadRequest)?
    /// The options of the put, or `nil` for the session's without client certificate and Unix domain socket.
    /// Credentials, header fields, cookies and interceptors of the session are never sent to the store.
    public var options: UploadOptions?
    /// The maximum number of tickets, including the first one. A ticket that expires while the put waits for its slot
    /// or is paused does not count; one that had expired when it was received does.
    public var maximumTickets = 3
    /// The key of all requests for a ticket, whatever their method: a UUID without quotes. The key of the final request
    /// has `-confirm` appended. A request with a header field `Idempotency-Key` keeps it.
    public var idempotencyKey = Delivery.newIdempotencyKey()
    var source: TicketSource

    /// Creates an upload of a file, which must not change until the upload ends.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - contentType: The content type of the file's part in a form; `nil` to derive it from the file name extension.
    ///     A `PUT` has the content type of the ticket (``TicketFormat/headers``).
    ///   - ask: The request for a ticket.
    ///   - format: The positions of the ticket's values.
    public init(file path: String, contentType: String? = nil, ask: UploadRequest, format: TicketFormat) {
        self.ask = ask
        self.format = format
        source = TicketSource(file: DurableFile(path: path), contentType: contentType, fileName: nil)
    }

    /// Creates an upload of bytes. `fileName` is the name of the part in a form.
    public init(
        data bytes: some Sequence<UInt8>, fileName: String = "file", contentType: String? = nil, ask: UploadRequest,
        format: TicketFormat
    ) {
        self.ask = ask
        self.format = format
        source = TicketSource(file: DurableFile(bytes: Array(bytes)), contentType: contentType, fileName: fileName)
    }
}

/// The result of a ``TicketedUpload``, or of its first two steps.
public struct TicketedUploadResult: Sendable {
    /// The ticket with which the file was put.
    public var ticket: UploadTicket
    /// The response of the store.
    public var stored: UploadResponse
    /// The response to the final request; `nil` without one.
    public var confirmed: UploadResponse?
}

extension UploadSession {
    /// Requests a ticket, puts the file, and confirms it.
    ///
    /// Cancelling the surrounding task cancels the current step. To pause all steps, set ``UploadOptions/group`` of the
    /// requests and use ``group(_:)``, or pause the handles. A ticket that expires during a pause is replaced.
    ///
    /// - Parameters:
    ///   - upload: The upload.
    ///   - onStep: Called with the handle of each step when it is started, for progress and control. A step is started
    ///     again for a new ticket.
    /// - Returns: The ticket and the responses.
    /// - Throws: ``UploadError``. Its message begins with the name of the step if one failed. Its outcome is that of
    ///   the object for `ask` and `put`: a lost response to `ask` counts as not sent. For `confirm`, it is the outcome
    ///   of that request, and the object is stored. The code is ``UploadError/Code/ticketExpired`` if every ticket
    ///   expired, ``UploadError/Code/ticketForOtherObject`` if a new ticket would store a second object,
    ///   ``UploadError/Code/decodingFailed`` if the response contains no ticket, and
    ///   ``UploadError/Code/invalidRequest`` for an invalid JSON pointer. The response of a store that rejected the put
    ///   has only code and message in its body, because the rest may contain the signature.
    @discardableResult
    public func run(
        _ upload: TicketedUpload, onStep: (@Sendable (_ step: TicketedUpload.Step, _ task: UploadTask) -> Void)? = nil
    ) async throws(UploadError) -> TicketedUploadResult {
        var source = upload.source
        try upload.format.check()
        try await source.file.inspect()
        let send = {
            @Sendable [core] (step: TicketedUpload.Step, request: UploadRequest) async throws(UploadError) in
            let task = core.start(request, isCancelled: Task.isCancelled)
            onStep?(step, task)
            return try await task.response
        }
        var ask = upload.ask.withKey(upload.idempotencyKey)
        var options = ask.options ?? self.options
        // Ask stores nothing: repeat it although the backend may not know the key.
        options.idempotency = .honoured(window: TicketRun.repeatWindow)
        ask.options = options
        let run = TicketRun(
            format: upload.format, source: source, maximumTickets: upload.maximumTickets,
            options: upload.options ?? self.options.forStore, stopwatch: Stopwatch(core.configuration.clock),
            ask: { [ask] () throws(UploadError) in try await send(.ask, ask) },
            put: { _, request throws(UploadError) in try await send(.put, request) })
        let (ticket, response) = try await run.store()
        var result = TicketedUploadResult(ticket: ticket, stored: response)
        guard let confirm = upload.confirm else { return result }
        do throws(UploadError) {
            let request = try Self.request(of: confirm, result).withKey("\(upload.idempotencyKey)-confirm")
            result.confirmed = try await send(.confirm, request)
        } catch {
            throw error.named(.confirm)
        }
        return result
    }

    private static func request(
        of confirm: @Sendable (TicketedUploadResult) throws -> UploadRequest, _ result: TicketedUploadResult
    ) throws(UploadError) -> UploadRequest {
        do {
            return try confirm(result)
        } catch let error as UploadError {
            throw error
        } catch {
            throw UploadError(
                .preparationFailed, "The closure failed to create its request. See the cause.", phase: .preparing,
                cause: error)
        }
    }
}

extension UploadRequest {
    /// Returns the request with an `Idempotency-Key` unless it has one.
    fileprivate func withKey(_ key: String) -> UploadRequest {
        guard headers[.idempotencyKey] == nil else { return self }
        var request = self
        request.headers[.idempotencyKey] = "\"\(key)\""
        return request
    }
}
