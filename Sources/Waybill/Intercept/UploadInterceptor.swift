public import WaybillMultipart

/// Somebody who has a say in every upload of a session: adds a signature, decrypts the answer, tells a no that came with
/// status 200.
///
/// All methods have a default that changes nothing, so an interceptor is as large as what it does:
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
/// Those of the session come first, then those of the request (``UploadRequest/interceptors``); on the way back the order is
/// reversed. One that throws, or takes longer than ``UploadSession/Configuration/interceptorLimit``, ends the upload with
/// ``UploadError/Code/interceptorFailed`` or ``UploadError/Code/interceptorTimedOut``; the message has its ``name``, the cause
/// is its error. Nobody waits for one that hangs: it is cancelled, and what it does afterwards has no effect. A cancelled
/// upload does not wait for interceptors either.
///
/// It is called on Swift's own threads, for many uploads at once, so it must not block.
public protocol UploadInterceptor: Sendable {
    /// What messages call it; the name of the type unless told otherwise.
    var name: String { get }

    /// Changes a form before its parts are made: once per upload, before anything is opened, after the session's common
    /// fields were added. All attempts send what came of it.
    func compose(_ form: inout MultipartForm) async throws

    /// Changes header fields and query before an attempt: once for every attempt, when it has its slot, so that a date or a
    /// signature is fresh. Not asked for a hop to another origin, where credentials stay behind.
    func adapt(_ request: inout OutgoingRequest) async throws

    /// Makes the answer's body readable: decrypts it, unpacks it. Asked for answers whose status is accepted.
    ///
    /// - Returns: What is in ``UploadResponse/body`` from then on.
    func transform(_ response: UploadResponse) async throws -> [UInt8]

    /// Says what an answer whose status is accepted means. Asked after all bodies were transformed; the first that says no
    /// is believed.
    func judge(_ response: UploadResponse) async throws -> ResponseVerdict
}

extension UploadInterceptor {
    /// The name of the type.
    public var name: String { "\(Self.self)" }
    /// Changes nothing.
    public func compose(_ form: inout MultipartForm) async throws {}
    /// Changes nothing.
    public func adapt(_ request: inout OutgoingRequest) async throws {}
    /// The body as it is.
    public func transform(_ response: UploadResponse) async throws -> [UInt8] { response.body }
    /// Accepted.
    public func judge(_ response: UploadResponse) async throws -> ResponseVerdict { .accepted }
}

/// An interceptor made of closures. See ``UploadInterceptor`` for when each is called.
public struct ClosureInterceptor: UploadInterceptor {
    /// What messages call it.
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
    /// Changes forms before their parts are made.
    public static func composing(
        _ name: String, _ body: @escaping @Sendable (inout MultipartForm) async throws -> Void
    ) -> ClosureInterceptor {
        ClosureInterceptor(name: name, composing: body)
    }

    /// Changes header fields and query of each attempt.
    public static func adapting(
        _ name: String, _ body: @escaping @Sendable (inout OutgoingRequest) async throws -> Void
    ) -> ClosureInterceptor {
        ClosureInterceptor(name: name, adapting: body)
    }

    /// Makes the bodies of answers readable.
    ///
    /// ```swift
    /// configuration.interceptors = [.transforming("decrypt") { try Array(AES.GCM.open(.init(combined: $0), using: key)) }]
    /// ```
    public static func transforming(
        _ name: String, _ body: @escaping @Sendable ([UInt8]) async throws -> [UInt8]
    ) -> ClosureInterceptor {
        ClosureInterceptor(name: name, transforming: body)
    }

    /// Says what answers mean.
    public static func judging(
        _ name: String, _ body: @escaping @Sendable (UploadResponse) async throws -> ResponseVerdict
    ) -> ClosureInterceptor {
        ClosureInterceptor(name: name, judging: body)
    }
}
