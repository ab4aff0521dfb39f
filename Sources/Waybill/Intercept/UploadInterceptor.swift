public import WaybillMultipart

/// A type that can change or reject the uploads of a session: it can add a signature, decrypt the response, or detect a
/// failure that has status 200.
///
/// All methods have a default implementation that changes nothing, so implement only what you need:
///
/// ```swift
/// struct RequestID: UploadInterceptor {
///     func adapt(_ request: inout OutgoingRequest) async throws {
///         request.headers[.requestID] = "\(request.id)-\(request.attempt)"
///     }
/// }
/// configuration.interceptors = [RequestID(), .transforming("decrypt") { try key.open($0) }, JSONEnvelope()]
/// ```
///
/// The interceptors of the session are called first, then those of the request (``UploadRequest/interceptors``). For
/// the response, the order is reversed. An interceptor that throws, or takes longer than
/// ``UploadSession/Configuration/interceptorLimit``, ends the upload with ``UploadError/Code/interceptorFailed`` or
/// ``UploadError/Code/interceptorTimedOut``. The message has its ``name``, the cause is its error. An interceptor that
/// exceeds the limit is cancelled, and its later result is ignored. A cancelled upload does not wait for interceptors
/// either.
///
/// Interceptors are called on Swift's cooperative thread pool, concurrently for many uploads, so they must not block.
public protocol UploadInterceptor: Sendable {
    /// The name in messages; by default the name of the type.
    var name: String { get }

    /// Changes a form before its parts are prepared. Called once per upload, before anything is opened, after the
    /// session's common fields were added. All attempts send the result.
    func compose(_ form: inout MultipartForm) async throws

    /// Changes header fields and query before an attempt. Called once per attempt, when the attempt has its slot, so
    /// that a date or a signature is current. Not called for redirects to another origin, where credentials are
    /// dropped.
    func adapt(_ request: inout OutgoingRequest) async throws

    /// Transforms the body of the response, for example by decrypting or decompressing it. Called for responses with an
    /// accepted status.
    ///
    /// - Returns: The new ``UploadResponse/body``.
    func transform(_ response: UploadResponse) async throws -> [UInt8]

    /// Evaluates a response with an accepted status. Called after all bodies were transformed. The first verdict that
    /// is not ``ResponseVerdict/accepted`` applies.
    func judge(_ response: UploadResponse) async throws -> ResponseVerdict
}

extension UploadInterceptor {
    /// The name of the type.
    public var name: String { "\(Self.self)" }
    /// Changes nothing.
    public func compose(_ form: inout MultipartForm) async throws {}
    /// Changes nothing.
    public func adapt(_ request: inout OutgoingRequest) async throws {}
    /// Returns the body unchanged.
    public func transform(_ response: UploadResponse) async throws -> [UInt8] { response.body }
    /// Returns ``ResponseVerdict/accepted``.
    public func judge(_ response: UploadResponse) async throws -> ResponseVerdict { .accepted }
}

/// An interceptor that is composed of closures. See ``UploadInterceptor`` for when each is called.
public struct ClosureInterceptor: UploadInterceptor {
    /// The name in messages.
    public let name: String
    var composing: (@Sendable (inout MultipartForm) async throws -> Void)?
    var adapting: (@Sendable (inout OutgoingRequest) async throws -> Void)?
    var transforming: (@Sendable ([UInt8]) async throws -> [UInt8])?
    var judging: (@Sendable (UploadResponse) async throws -> ResponseVerdict)?

    /// Calls the closure.
    public func compose(_ form: inout MultipartForm) async throws { try await composing?(&form) }
    /// Calls the closure.
    public func adapt(_ request: inout OutgoingRequest) async throws { try await adapting?(&request) }
    /// Calls the closure.
    public func transform(_ response: UploadResponse) async throws -> [UInt8] {
        guard let transforming else { return response.body }
        return try await transforming(response.body)
    }
    /// Calls the closure.
    public func judge(_ response: UploadResponse) async throws -> ResponseVerdict {
        guard let judging else { return .accepted }
        return try await judging(response)
    }
}

extension UploadInterceptor where Self == ClosureInterceptor {
    /// Returns an interceptor that changes forms before their parts are prepared.
    public static func composing(
        _ name: String, _ body: @escaping @Sendable (inout MultipartForm) async throws -> Void
    ) -> ClosureInterceptor {
        ClosureInterceptor(name: name, composing: body)
    }

    /// Returns an interceptor that changes header fields and query of each attempt.
    public static func adapting(
        _ name: String, _ body: @escaping @Sendable (inout OutgoingRequest) async throws -> Void
    ) -> ClosureInterceptor {
        ClosureInterceptor(name: name, adapting: body)
    }

    /// Returns an interceptor that transforms the bodies of responses.
    ///
    /// ```swift
    /// configuration.interceptors = [.transforming("decrypt") { try Array(AES.GCM.open(.init(combined: $0), using: key)) }]
    /// ```
    public static func transforming(
        _ name: String, _ body: @escaping @Sendable ([UInt8]) async throws -> [UInt8]
    ) -> ClosureInterceptor {
        ClosureInterceptor(name: name, transforming: body)
    }

    /// Returns an interceptor that evaluates responses.
    public static func judging(
        _ name: String, _ body: @escaping @Sendable (UploadResponse) async throws -> ResponseVerdict
    ) -> ClosureInterceptor {
        ClosureInterceptor(name: name, judging: body)
    }
}
