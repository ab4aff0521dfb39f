import HTTPTypes
import WaybillCore
import WaybillMultipart

/// The first two steps of an upload with tickets: requests a ticket and puts the file, again while tickets expire.
struct TicketRun: Sendable {
    let format: TicketFormat
    let source: TicketSource
    let maximumTickets: Int
    /// The options of the put.
    let options: UploadOptions
    let stopwatch: Stopwatch
    /// The ``UploadTicket/object`` that an earlier run may have stored.
    var object: String?
    /// Requests a ticket.
    let ask: @Sendable () async throws(UploadError) -> UploadResponse
    /// Sends the file.
    let put: @Sendable (UploadTicket, UploadRequest) async throws(UploadError) -> UploadResponse

    /// The time for which a session may repeat a request that has no further effect.
    static let repeatWindow = Duration.seconds(86_400)

    /// Stores the file.
    func store() async throws(UploadError) -> (ticket: UploadTicket, response: UploadResponse) {
        var outcome = UploadOutcome.notSent
        var object = object
        var last: (ticket: UploadTicket, error: UploadError)?
        var remaining = max(1, maximumTickets)
        while remaining > 0 {
            let ticket = try await ticket(outcome)
            if let object, object != ticket.object { throw Self.otherObject(last?.error) }
            if let last, last.ticket.isEqual(to: ticket) {
                throw Self.expired(
                    "The backend returned an expired ticket again. Sign a new URL for each request, also for a known "
                        + "Idempotency-Key.", outcome, last.error)
            }
            do throws(UploadError) {
                guard !hasExpired(ticket) else {
                    throw Self.expired("The ticket had expired when it was received.", .notSent, nil)
                }
                return (ticket, try await put(ticket, try await request(ticket)))
            } catch {
                outcome = outcome.lessCertain(than: error.outcome)
                if error.outcome.mayHaveActed { object = ticket.object }
                var failure = error
                failure.response = error.response.map { StoreRejection($0).summary }
                guard isExpiry(error, ticket), ticket.isRepeatable(format) || !outcome.mayHaveActed else {
                    throw failure.named(.put, outcome: outcome)
                }
                last = (ticket, failure)
                // A ticket that expired while the put waited for its slot does not count: many uploads share the slots.
                if error.code != .interceptorFailed || error.outcome != .notSent { remaining -= 1 }
            }
        }
        throw Self.expired(
            "All \(max(1, maximumTickets)) tickets expired. Compare the clocks of backend and store, and extend the "
                + "validity of the tickets.", outcome, last?.error)
    }

    private func ticket(_ outcome: UploadOutcome) async throws(UploadError) -> UploadTicket {
        do throws(UploadError) {
            let response = try await ask()
            // The start of the last attempt: the request may have been queued, paused or retried before.
            return try UploadTicket(response, format, requestedAt: stopwatch.elapsed - response.metrics.total)
        } catch {
            // A request for a ticket stores no object, even if its response was lost.
            let own = error.outcome.mayHaveActed ? .notSent : error.outcome
            throw error.named(.ask, outcome: outcome.lessCertain(than: own))
        }
    }

    private func hasExpired(_ ticket: UploadTicket) -> Bool {
        ticket.deadline.map { stopwatch.elapsed >= $0 } ?? false
    }

    private func isExpiry(_ error: UploadError, _ ticket: UploadTicket) -> Bool {
        switch error.code {
        case .ticketExpired: true
        // The interceptor of `request(_:)`.
        case .interceptorFailed: hasExpired(ticket)
        case .rejected: error.response.map { StoreRejection($0).reportsExpiry } ?? false
        default: false
        }
    }

    private static func otherObject(_ cause: UploadError?) -> UploadError {
        UploadError(
            .ticketForOtherObject,
            "An earlier put may have stored the object, and the new ticket is for another one. Derive the object key "
                + "from the Idempotency-Key of the request, and look for the first object at the store.",
            phase: .awaitingResponse, attempt: cause?.attempt ?? 1, outcome: .unknown, attempts: cause?.attempts ?? [],
            cause: cause)
    }

    private static func expired(_ message: String, _ outcome: UploadOutcome, _ cause: UploadError?) -> UploadError {
        // Without the response: a queue would take its status for one of the backend.
        UploadError(
            .ticketExpired, message, phase: outcome == .notSent ? .queued : .awaitingResponse,
            attempt: cause?.attempt ?? 1, outcome: outcome, attempts: cause?.attempts ?? [], cause: cause)
    }
}

extension TicketRun {
    /// The interceptor's reason for not starting an attempt.
    private struct TicketPassed: Error {}

    private func request(_ ticket: UploadTicket) async throws(UploadError) -> UploadRequest {
        let content = try await source.content(fields: ticket.fields, fileField: format.fileField)
        var options = options
        options.authentication = nil
        options.transfer.digest = nil
        options.resume = nil
        options.deduplicationKey = nil
        options.accepts = .successful
        options.idempotency = ticket.isRepeatable(format) ? .honoured(window: Self.repeatWindow) : .ignored
        options.excludedDefaults.formUnion([.headers, .commonFields, .interceptors, .cookies])
        var request = UploadRequest(
            ticket.method, ticket.url.value, headers: ticket.headers, content: content, options: options)
        request.hidesPath = true
        request.sendsContentType = ticket.fields != nil
        if let deadline = ticket.deadline {
            // One step before the requests for tickets: these would expire while many others are requested.
            request.options?.priority = UploadPriority(rawValue: options.priority.rawValue + 1) ?? .veryHigh
            // Each attempt is checked when it has its slot: the upload may have been queued, paused or retried.
            request.interceptors.append(
                .adapting("ticket") { [stopwatch] _ in
                    guard stopwatch.elapsed < deadline else { throw TicketPassed() }
                })
        }
        return request
    }
}

/// The bytes of an upload with tickets.
struct TicketSource: Sendable, Codable {
    var file: DurableFile
    /// The content type of the part in a form; `nil` to derive it from the name.
    var contentType: String?
    /// The file name of the part in a form; `nil` for that of the path.
    var fileName: String?

    /// Returns the content for a form with these fields, or the file as the whole body.
    func content(
        fields: [(name: String, value: Secret)]?, fileField: String
    ) async throws(UploadError) -> UploadContent {
        let body = try await body(fields, fileField)
        // Check after the body was opened: if the file is unchanged now, each put has the same bytes.
        try await file.check()
        return .body(body)
    }

    private func body(
        _ fields: [(name: String, value: Secret)]?, _ fileField: String
    ) async throws(UploadError) -> any UploadBody {
        do throws(BodyError) {
            if let fields {
                var form = MultipartForm()
                for field in fields { form.append(.rawText(field.name, Array(field.value.value.utf8), isSecret: true)) }
                // Stores ignore the fields after the file.
                form.append(part(fileField))
                return try await form.prepared()
            }
            if let bytes = file.pending { return DataBody(bytes) }
            return try await FileBody.inspecting(file.path, contentType: contentType)
        } catch {
            throw UploadError(preparing: error)
        }
    }

    private func part(_ name: String) -> MultipartPart {
        if let bytes = file.pending {
            .data(name, bytes, fileName: fileName ?? "file", contentType: contentType)
        } else {
            .file(name, path: file.path, fileName: fileName, contentType: contentType)
        }
    }
}

extension UploadOptions {
    /// The options of a session for a put: without a certificate and a socket, which are for the backend.
    var forStore: UploadOptions {
        var options = self
        options.transfer.tls.clientCertificate = nil
        options.transfer.unixSocket = nil
        return options
    }
}

extension UploadError {
    /// Returns the error with the name of the failed step and the outcome of all steps.
    func named(_ step: TicketedUpload.Step, outcome: UploadOutcome? = nil) -> UploadError {
        var error = self
        error.message = "Step \"\(step)\" failed. " + message
        if step == .confirm { error.message += " The object is stored." }
        if let outcome { error.outcome = outcome }
        return error
    }
}
