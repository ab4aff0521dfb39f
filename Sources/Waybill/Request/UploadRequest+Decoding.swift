public import FoundationEssentials
public import HTTPTypes
import WaybillCore
public import WaybillMultipart

extension UploadSession {
    /// Sends a form and decodes the response as JSON.
    ///
    /// ```swift
    /// let receipt = try await session.upload(form, to: url, as: Receipt.self)
    /// ```
    ///
    /// The other parameters are those of the method without a type.
    ///
    /// - Throws: ``UploadError``. The code is ``UploadError/Code/decodingFailed`` if the server accepted the upload but
    ///   its response can't be decoded. The response is in ``UploadError/response``, the position of the error in
    ///   ``UploadError/codingPath``.
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

    /// Sends a file, bytes or a stream and decodes the response as JSON. The default method is
    /// ``UploadContent/defaultMethod``.
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

    /// Sends a request and decodes the response as JSON.
    ///
    /// - Throws: ``UploadError``, as for a form.
    public func send<Value: Decodable>(
        _ request: UploadRequest, as type: Value.Type, decoder: JSONDecoder = JSONDecoder()
    ) async throws(UploadError) -> Value {
        try await send(request).decode(type, decoder: decoder)
    }
}

extension UploadResponse {
    /// Decodes the body with a custom decoder, for example for XML, protocol buffers or plain text.
    ///
    /// - Throws: ``UploadError`` with the code ``UploadError/Code/decodingFailed``. Its cause is the error of the
    ///   closure, and its response is this one.
    public func decode<Value>(
        using decode: (_ body: [UInt8]) throws -> Value
    ) throws(UploadError) -> Value {
        do {
            return try decode(body)
        } catch {
            throw decodingFailure("can't be decoded as \(Value.self)", cause: error)
        }
    }

    /// Returns the error of an accepted upload whose response can't be decoded.
    func decodingFailure(_ what: String, cause: any Error) -> UploadError {
        let place = UploadError.codingPath(of: cause).map { " at \(Redaction.escaped($0))" } ?? ""
        var error = UploadError(
            .decodingFailed,
            "The server responded with \(status.code), but its response of \(body.count) bytes \(what)\(place). "
                + "Check the response before you send the upload again.",
            phase: .succeeded, attempt: max(1, attempts.count), outcome: .unknown, response: self, attempts: attempts,
            cause: cause)
        error.redirects = redirects
        return error
    }
}

extension UploadError {
    /// The position in the response at which decoding failed: keys separated by dots, as in `data.items.3.id`; empty
    /// for the root. `nil` for any other error.
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
