public import HTTPTypes
public import WaybillCore
import WaybillCurl
public import WaybillMultipart

/// Sends uploads: one line for one, bounded concurrency for thousands.
///
/// ```swift
/// let form: MultipartForm = [
///     .text("TOKEN", .secret(token)),
///     .image("FILE", path: "front.jpg", .maxBytes(.kibibytes(100))),
/// ]
/// let response = try await UploadSession.shared.upload(form, to: "https://backend.example/upload") { progress in
///     print(progress.phase, progress.fraction ?? 0)
/// }
/// ```
///
/// A session owns a queue: at most ``Configuration/slots`` transfers run at once, at most
/// ``Configuration/slotsPerHost`` of them to one host, the most urgent first (``UploadPriority``) and among equals those that
/// came first; the next few are prepared meanwhile.
/// It may be used from any thread. A session that is let go lets its running uploads end; ``close(_:)`` waits for them.
public final class UploadSession: Sendable {
    /// A session with the defaults, for programs that need no other. Closing it ends its uploads but leaves it open.
    public static let shared = UploadSession(
        core: SessionCore(configuration: Configuration(), transport: nil, isShared: true))

    let core: SessionCore

    /// A session that sends with libcurl. Nothing is started before the first upload.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(core: SessionCore(configuration: configuration, transport: nil))
    }

    /// A session over a transport of your own, or over the `ScriptedTransport` of WaybillTesting.
    public convenience init(configuration: Configuration = Configuration(), transport: any UploadTransport) {
        self.init(core: SessionCore(configuration: configuration, transport: transport))
    }

    /// What uploads use that bring no options of their own: a copy, to change and hand in with one upload.
    public var options: UploadOptions { core.configuration.options }

    private init(core: SessionCore) {
        self.core = core
    }

    /// Sends a form and waits for the answer.
    ///
    /// Cancelling the surrounding task cancels the upload, in whatever phase it is.
    ///
    /// - Parameters:
    ///   - form: The form.
    ///   - location: An absolute `http` or `https` URL, as `String` or `URL`.
    ///   - method: The method.
    ///   - headers: Header fields, on top of the session's.
    ///   - options: Options for this upload, or `nil` for the session's.
    ///   - onProgress: Called with snapshots, at most about twenty a second, one after the other; a slow one misses
    ///     some, never the last. It runs where the caller runs, and is never called after this method returned.
    /// - Returns: The answer, with a status that the options accept (2xx unless told otherwise).
    /// - Throws: ``UploadError``.
    public func upload(
        _ form: MultipartForm, to location: some UploadLocation, method: HTTPRequest.Method = .post,
        headers: HTTPFields = [:], options: UploadOptions? = nil,
        onProgress: (@Sendable (UploadProgress) -> Void)? = nil
    ) async throws(UploadError) -> UploadResponse {
        let request = UploadRequest(method, location, headers: headers, content: .form(form), options: options)
        return try await core.start(request, isCancelled: Task.isCancelled).outcome(onProgress: onProgress)
    }

    /// Sends a file, bytes, a stream or a prepared form and waits for the response.
    ///
    /// The parameters are those of a form. The default method is ``UploadContent/defaultMethod``: `POST` for forms, else `PUT`.
    public func upload(
        _ content: UploadContent, to location: some UploadLocation, method: HTTPRequest.Method? = nil,
        headers: HTTPFields = [:], options: UploadOptions? = nil,
        onProgress: (@Sendable (UploadProgress) -> Void)? = nil
    ) async throws(UploadError) -> UploadResponse {
        let method = method ?? content.defaultMethod
        let request = UploadRequest(method, location, headers: headers, content: content, options: options)
        return try await core.start(request, isCancelled: Task.isCancelled).outcome(onProgress: onProgress)
    }

    /// Sends a small request, with or without a body, and waits for the answer.
    ///
    /// - Throws: ``UploadError``.
    public func send(_ request: UploadRequest) async throws(UploadError) -> UploadResponse {
        try await core.start(request, isCancelled: Task.isCancelled).outcome(onProgress: nil)
    }
}

extension UploadSession {
    /// Starts an upload and returns its handle at once.
    ///
    /// The upload goes on when the handle is let go. What is wrong with the request shows as the error of
    /// ``UploadTask/response``.
    @discardableResult
    public func start(_ request: UploadRequest) -> UploadTask {
        core.start(request)
    }

    /// Starts sending a form and returns the handle at once.
    @discardableResult
    public func start(
        _ form: MultipartForm, to location: some UploadLocation, method: HTTPRequest.Method = .post,
        headers: HTTPFields = [:], options: UploadOptions? = nil
    ) -> UploadTask {
        start(UploadRequest(method, location, headers: headers, content: .form(form), options: options))
    }

    /// Starts sending a file, bytes, a stream or a prepared form and returns the handle immediately. The default method is
    /// ``UploadContent/defaultMethod``.
    @discardableResult
    public func start(
        _ content: UploadContent, to location: some UploadLocation, method: HTTPRequest.Method? = nil,
        headers: HTTPFields = [:], options: UploadOptions? = nil
    ) -> UploadTask {
        let method = method ?? content.defaultMethod
        return start(UploadRequest(method, location, headers: headers, content: content, options: options))
    }

    /// Closes the session and, when its last upload has ended, the connections that it kept open; then returns. From now on
    /// ``start(_:)`` gives uploads that fail with ``UploadError/Code/sessionClosed``. Calling it again is harmless.
    ///
    /// A task that is cancelled while it drains cancels what still runs.
    public func close(_ mode: CloseMode = .drain) async {
        await core.close(mode)
    }

    /// What ``close(_:)`` does with uploads that have not ended.
    public enum CloseMode: Sendable, Hashable {
        /// Lets all of them end, the ones that wait and retry too. Who is paused is resumed, for nobody else would be left to
        /// do that, and from now on nobody can be paused.
        case drain
        /// Cancels them.
        case cancel
    }
}
