public import FoundationEssentials
public import HTTPTypes
import WaybillCore
public import WaybillMultipart

extension UploadSession {
    /// Sends a form and reads the answer as JSON.
    ///
    /// ```swift
    /// let receipt = try await session.upload(form, to: url, as: Receipt.self)
    /// ```
    ///
    /// The other parameters mean what they mean without a type.
    ///
    /// - Throws: ``UploadError``; the code is ``UploadError/Code/decodingFailed`` when the server took the upload and its
    ///   answer is not what was expected: the answer is in ``UploadError/response``, the place in ``UploadError/codingPath``.
    public func upload<Value: Decodable>(
        _ form: MultipartForm, to location: some UploadLocation, as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder(),
        method: HTTPRequest.Method = .post, headers: HTTPFields = [:], options: UploadOptions? = nil,
        onProgress: (@Sendable (UploadProgress) -> Void)? = nil
    ) async throws(UploadError) -> Value {
        try await upload(
            form, to: location, method: method, headers: headers, options: options, onProgress: onProgress
        ).decode(type, decoder: decoder)
    }

    /// Sends a file, bytes or a stream and reads the answer as JSON; `PUT` unless told otherwise.
    ///
    /// - Throws: ``UploadError``, as for a form.
    public func upload<Value: Decodable>(
        _ content: UploadContent, to location: some UploadLocation, as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder(), method: HTTPRequest.Method? = nil, headers: HTTPFields = [:],
        options: UploadOptions? = nil, onProgress: (@Sendable (UploadProgress) -> Void)? = nil
    ) async throws(UploadError) -> Value {
        try await upload(
            content, to: location, method: method, headers: headers, options: options, onProgress: onProgress
        ).decode(type, decoder: decoder)
    }

    /// Sends a request and reads the answer as JSON.
    ///
    /// - Throws: ``UploadError``, as for a form.
    public func send<Value: Decodable>(
        _ request: UploadRequest, as type: Value.Type, decoder: JSONDecoder = JSONDecoder()
    ) async throws(UploadError) -> Value {
        try await send(request).decode(type, decoder: decoder)
    }
}

extension UploadResponse {
    /// Reads the body with a decoder of your own: XML, protocol buffers, a line of text.
    ///
    /// - Throws: ``UploadError`` with the code ``UploadError/Code/decodingFailed``; its cause is what the closure threw, its
    ///   response this one.
    public func decode<Value>(
        using decode: (_ body: [UInt8]) throws -> Value
    ) throws(UploadError) -> Value {
        do {
            return try decode(body)
        } catch {
            throw decodingFailure("is not \(Value.self)", cause: error)
        }
    }

    /// The upload was taken, and the answer can't be read.
    func decodingFailure(_ what: String, cause: any Error) -> UploadError {
        let place = UploadError.codingPath(of: cause).map { " at \(Redaction.escaped($0))" } ?? ""
        var error = UploadError(
            .decodingFailed,
            "the server answered \(status.code), but its answer of \(body.count) bytes \(what)\(place): look at "
                + "the response before you send the upload again",
            phase: .succeeded, attempt: max(1, attempts.count), outcome: .unknown, response: self, attempts: attempts,
            cause: cause)
        error.redirects = redirects
        return error
    }
}

extension UploadError {
    /// Where in the answer a decoder failed: keys with dots between them, as in `data.items.3.id`; empty for its beginning.
    /// `nil` for any other error.
    public var codingPath: String? { code == .decodingFailed ? cause.flatMap(Self.codingPath) : nil }

    static func codingPath(of error: any Error) -> String? {
        let (context, last): (DecodingError.Context, (any CodingKey)?)
        switch error as? DecodingError {
        case .keyNotFound(let key, let found): (context, last) = (found, key)
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found):
            (context, last) = (found, nil)
        case nil: return nil
        @unknown default: return nil
        }
        let keys = context.codingPath + (last.map { [$0] } ?? [])
        return keys.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }
}
