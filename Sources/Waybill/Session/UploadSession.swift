public import HTTPTypes
public import WaybillCore
import WaybillCurl
public import WaybillMultipart

/// A session that sends uploads with bounded concurrency.
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
/// A session owns a queue: at most ``Configuration/maximumConcurrentTransfers`` transfers run concurrently, and at most
/// ``Configuration/maximumConcurrentTransfersPerHost`` of them to one host. Uploads start in the order of their
/// priority (``UploadPriority``), and in the order they were started if their priority is equal. The next few uploads
/// are prepared meanwhile. A session may be used from any thread. Running uploads continue when the session is
/// released; ``close(_:)`` waits for them.
public final class UploadSession: Sendable {
    /// A session with the default configuration. Closing it ends its uploads but leaves the session open.
    public static let shared = UploadSession(
        core: SessionCore(configuration: Configuration(), transport: nil, isShared: true))

    let core: SessionCore

    /// Creates a session that sends with libcurl. No resources are allocated before the first upload.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(core: SessionCore(configuration: configuration, transport: nil))
    }

    /// Creates a session with a custom transport or with the `ScriptedTransport` of WaybillTesting.
    public convenience init(configuration: Configuration = Configuration(), transport: any UploadTransport) {
        self.init(core: SessionCore(configuration: configuration, transport: transport))
    }

    /// A copy of the options for uploads that have no options of their own. Change the copy and pass it with an upload.
    public var options: UploadOptions { core.configuration.options }

    /// An executor on the thread that sends the session's uploads, for programs that send small forms one after the
    /// other.
    ///
    /// ```swift
    /// await withTaskExecutorPreference(session.executor) {
    ///     for card in cards { results.append(try? await session.upload(form(card), to: url)) }
    /// }
    /// ```
    ///
    /// A task that prefers this executor starts an upload and continues after its end without a change of threads.
    /// For one small upload at a time this saves a quarter of the CPU time; several concurrent uploads become slower.
    ///
    /// - Warning: All uploads of the session wait while such a task runs. Never block in it, compress no images, and do
    ///   no long computations: time limits continue to run, and uploads stall.
    ///
    /// If the session's transport has no such thread, this is `globalConcurrentExecutor`.
    public var executor: any TaskExecutor { core.transport.executor ?? globalConcurrentExecutor }

    /// A session with the same configuration and transport, whose uploads have their own slots. A request that an upload
    /// of this session waits for can't be blocked by that upload.
    package var sibling: UploadSession {
        UploadSession(core: SessionCore(configuration: core.configuration, transport: core.transport))
    }

    private init(core: SessionCore) {
        self.core = core
    }

    /// Sends a form and waits for the response.
    ///
    /// Cancelling the surrounding task cancels the upload in any phase.
    ///
    /// - Parameters:
    ///   - form: The form.
    ///   - location: An absolute `http` or `https` URL, as `String` or `URL`.
    ///   - method: The method.
    ///   - headers: Header fields, in addition to the session's.
    ///   - options: Options for this upload, or `nil` for the session's.
    ///   - onProgress: Called with snapshots, at most about twenty times per second. Calls do not overlap. A slow
    ///     closure misses snapshots, but never the last one. It runs in the caller's context and is not called after
    ///     this method has returned.
    /// - Returns: The response, with a status that the options accept (2xx by default).
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
    /// The parameters are those of the method for forms. The default method is ``UploadContent/defaultMethod``: `POST`
    /// for forms, otherwise `PUT`.
    public func upload(
        _ content: UploadContent, to location: some UploadLocation, method: HTTPRequest.Method? = nil,
        headers: HTTPFields = [:], options: UploadOptions? = nil,
        onProgress: (@Sendable (UploadProgress) -> Void)? = nil
    ) async throws(UploadError) -> UploadResponse {
        let method = method ?? content.defaultMethod
        let request = UploadRequest(method, location, headers: headers, content: content, options: options)
        return try await core.start(request, isCancelled: Task.isCancelled).outcome(onProgress: onProgress)
    }

    /// Sends a small request, with or without a body, and waits for the response.
    ///
    /// - Throws: ``UploadError``.
    public func send(_ request: UploadRequest) async throws(UploadError) -> UploadResponse {
        try await core.start(request, isCancelled: Task.isCancelled).outcome(onProgress: nil)
    }
}

extension UploadSession {
    /// Starts an upload and returns its handle immediately.
    ///
    /// The upload continues if the handle is released. Errors in the request are thrown by ``UploadTask/response``.
    @discardableResult
    public func start(_ request: UploadRequest) -> UploadTask {
        core.start(request)
    }

    /// Starts sending a form and returns the handle immediately.
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

    /// Closes the session: waits until its last upload has ended, then closes its idle connections. From now on
    /// ``start(_:)`` returns uploads that fail with ``UploadError/Code/sessionClosed``. May be called repeatedly.
    ///
    /// Cancelling the task during a drain cancels the remaining uploads.
    public func close(_ mode: CloseMode = .drain) async {
        await core.close(mode)
    }

    /// The effect of ``close(_:)`` on uploads that have not ended.
    public enum CloseMode: Sendable, Hashable {
        /// Waits for all uploads, including those that are queued or wait for a retry. Paused uploads are resumed, and
        /// pausing has no effect from now on.
        case drain
        /// Cancels the uploads.
        case cancel
    }
}
