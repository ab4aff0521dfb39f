import FoundationEssentials
import WaybillCore
import WaybillMultipart

/// A ``TicketedUpload`` that can be persisted: asks a backend for a ticket, puts the file into the store, and confirms
/// it, also after a restart.
///
/// ```swift
/// let backend = DurableCredential.bearer(named: "backend")
/// let upload = try await DurableTicketedUpload(
///     file: "front.jpg",
///     ask: DurableRequest(.post, "https://backend.example/tickets", body: #"{"type": "jpg"}"#, credential: backend),
///     format: TicketFormat(url: "/data/uploadUrl"),
///     confirm: DurableRequest(
///         .post, "https://backend.example/files/{ticket:/data/id}/confirm", credential: backend,
///         idempotency: .honoured(window: .seconds(86_400))))
/// try await outbox.enqueue(upload)
/// ```
///
/// A ticket is requested when the turn of the upload comes, and is never persisted. The queue stores the requests, the
/// path or a copy of the file, before the put a hash of the object's location, and after it the values that the final
/// request needs: a file that was put is not sent again. All attempts have the same idempotency key. The cost is two
/// writes to the queue for each upload.
///
/// A put whose response was lost is repeated with a new ticket, unless it is a form that must not be repeated
/// (``TicketFormat/isRepeatable``), or the ticket is for another object. A final request whose response was lost is
/// repeated if its `idempotency` declares that the backend honours the key. Otherwise the outcome is unknown, and the
/// policy of the queue applies.
///
/// The lane is that of the backend. A store that can't be reached suspends it, too.
public struct DurableTicketedUpload: DurableUpload {
    /// The string `ticket`.
    public static let kind = "ticket"

    /// The positions of the ticket's values.
    public let format: TicketFormat
    /// The maximum number of tickets of one attempt.
    public let maximumTickets: Int
    private let ask: DurableRequest
    private let confirm: DurableRequest?
    private var source: TicketSource

    /// Creates an upload of a file, which must exist.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - contentType: The content type of the file's part in a form; `nil` to derive it from the file name extension.
    ///   - ask: The request for a ticket.
    ///   - format: The positions of the ticket's values in its response.
    ///   - confirm: The final request, with placeholders; `nil` for none.
    ///   - maximumTickets: The maximum number of tickets of one attempt.
    /// - Throws: ``UploadError`` if the file, a JSON pointer or a placeholder is invalid.
    public init(
        file path: String, contentType: String? = nil, ask: DurableRequest, format: TicketFormat,
        confirm: DurableRequest? = nil, maximumTickets: Int = 3
    ) async throws(UploadError) {
        var file = DurableFile(path: path)
        try await file.inspect()
        // A queue may give its copy of the file another name.
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) }
        try self.init(
            TicketSource(file: file, contentType: contentType, fileName: name), ask, format, confirm, maximumTickets)
    }

    /// Creates an upload of bytes, which the outbox writes to a file that it owns. The other parameters are those of
    /// the upload of a file.
    ///
    /// - Throws: ``UploadError``, as for a file.
    public init(
        data bytes: some Sequence<UInt8>, fileName: String = "file", contentType: String? = nil, ask: DurableRequest,
        format: TicketFormat, confirm: DurableRequest? = nil, maximumTickets: Int = 3
    ) throws(UploadError) {
        let source = TicketSource(
            file: DurableFile(bytes: Array(bytes)), contentType: contentType, fileName: fileName)
        try self.init(source, ask, format, confirm, maximumTickets)
    }

    private init(
        _ source: TicketSource, _ ask: DurableRequest, _ format: TicketFormat, _ confirm: DurableRequest?,
        _ maximumTickets: Int
    ) throws(UploadError) {
        try format.check()
        try confirm?.checkPlaceholders()
        self.source = source
        self.ask = ask
        self.format = format
        self.confirm = confirm
        self.maximumTickets = maximumTickets
    }

    /// The host of the backend and the credential of the request for a ticket.
    public var lane: DurableLane { ask.target.lane }

    /// The file, as the only element.
    public var files: [DurableFile] {
        get { [source.file] }
        set { if let first = newValue.first { source.file = first } }
    }

    /// Performs the steps that are not done yet.
    public func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        let state = TicketState(delivery)
        if let confirm, let values = state.progress?.values { return try await Self.send(confirm, values, state) }
        let (ticket, response) = try await store(state)
        guard let confirm else { return response }
        let values: [String: String]
        do throws(UploadError) {
            values = try confirm.values(ticket: ticket).merging(try confirm.values(stored: response)) { $1 }
        } catch {
            // The object is stored: another put would meet the same response.
            throw error.named(.confirm, outcome: .processed)
        }
        return try await Self.send(confirm, values, state)
    }

    private func store(
        _ state: TicketState
    ) async throws(UploadError) -> (ticket: UploadTicket, response: UploadResponse) {
        let delivery = state.delivery
        var run = TicketRun(
            format: format, source: source, maximumTickets: maximumTickets, options: delivery.options.forStore,
            stopwatch: Stopwatch(delivery.session.core.configuration.clock),
            ask: { [ask] () throws(UploadError) in try await ask.send(delivery) },
            put: { [confirm, format] ticket, request throws(UploadError) in
                // Report a missing value before the object is stored.
                _ = try confirm?.values(ticket: ticket)
                let putting = TicketProgress.putting(ticket.object, isRepeatable: ticket.isRepeatable(format))
                return try await state.perform(putting, otherwise: state.progress) { () throws(UploadError) in
                    try await delivery.session.core.start(request, isCancelled: Task.isCancelled)
                        .outcome(onProgress: delivery.onProgress)
                }
            })
        if case .putting(let object, let isRepeatable)? = state.progress, !delivery.acceptsDuplicates {
            guard isRepeatable else {
                throw UploadError(
                    .other, "An earlier put must not be repeated, and may have stored the object.",
                    phase: .awaitingResponse, outcome: .unknown
                ).named(.put)
            }
            run.object = object
        }
        do throws(UploadError) {
            return try await run.store()
        } catch {
            if error.code == .ticketForOtherObject { await state.forbidRepetition() }
            throw error
        }
    }

    private static func send(
        _ confirm: DurableRequest, _ values: [String: String], _ state: TicketState
    ) async throws(UploadError) -> UploadResponse {
        do throws(UploadError) {
            return try await state.perform(
                .confirming(values), otherwise: .stored(values), isProgress: state.progress?.values == nil
            ) { () throws(UploadError) in
                try await confirm.send(state.delivery, values: values, keySuffix: "-confirm")
            }
        } catch {
            throw error.named(.confirm)
        }
    }

    /// Returns ``DeliveryVerdict/absent`` if no step was interrupted that may have acted,
    /// ``DeliveryVerdict/repeatable`` if it may be repeated, and ``DeliveryVerdict/undetermined`` for a form or a final
    /// request that must not be.
    public func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict {
        switch TicketProgress(delivery.resume) {
        case nil, .stored: .absent
        case .putting(_, let isRepeatable): isRepeatable ? .repeatable : .undetermined
        case .confirming: confirm?.target.verdict(delivery) ?? .repeatable
        }
    }
}

extension DurableTicketedUpload: CustomStringConvertible, CustomReflectable {
    /// The URL of the backend without its query, and the file.
    public var description: String { "ticket from \(Redaction.url(ask.target.url)) (\(source.file))" }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["upload": description]) }
}
