import FlyingFox
import Foundation

/// Resumable uploads by the IETF draft (draft-ietf-httpbis-resumable-upload), interop versions 8 and 6. All other
/// requests are ordinary forms.
///
/// FlyingFox can't send interim responses, so the client gets the URL of an upload only from the response to its
/// creation. A creation with the whole form can't be resumed, and is handled as an ordinary form.
struct ResumableHandler: HTTPHandler {
    let configuration: Receiver.Configuration
    let forms: UploadHandler
    let uploads: ResumableUploads

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        var call = ResumableCall(request)
        do {
            switch request.method {
            case .OPTIONS:
                return response(.ok, call, [.allow: "POST, OPTIONS", .acceptPatch: ResumableCall.mediaType])
            case .POST:
                guard call.isOfProtocol, let completes = call.completes else {
                    return try await forms.handleRequest(request)
                }
                return try await create(&call, completes: completes)
            case .DELETE:
                guard await uploads.remove(call.name) else { throw Rejection(.notFound) }
                return response(.ok, call)
            default:
                guard let upload = await uploads.claim(call.name) else { throw Rejection(.notFound) }
                call.secondsLeft = max(0, Int((upload.end - .now) / .seconds(1)))
                call.offset = upload.offset
                return try await request.method == .PATCH ? append(&call, to: upload) : state(of: upload, call)
            }
        } catch let rejection as Rejection {
            return rejected(rejection, call)
        } catch is Hangup {
            return HTTPResponse(webSocket: Hangup())
        }
    }

    // MARK: Requests

    private func create(_ call: inout ResumableCall, completes: Bool) async throws -> HTTPResponse {
        let size = call.contentLength
        guard !completes || call.length == nil || size == nil || call.length == size else {
            throw Rejection.inconsistentLength
        }
        guard call.length ?? 0 <= configuration.sizeLimit else { throw Rejection(.payloadTooLarge) }
        try await check(&call, end: size ?? 0, length: call.length)
        if completes {
            var response = try await forms.handleRequest(call.request)
            response.headers[.uploadComplete] = "?1"
            return response
        }
        call.name = try await uploads.create(call.request.headers, length: call.length)
        call.offset = 0
        do {
            try await receive(&call, length: call.length, transfer: 0)
        } catch {
            // Without an interim response the client does not know the URL.
            await uploads.remove(call.name)
            call.offset = nil
            throw error
        }
        return response(.created, call, [.location: "/upload/\(call.name)"])
    }

    private func state(of upload: ResumableUploads.Upload, _ call: ResumableCall) async throws -> HTTPResponse {
        var fields: HTTPHeaders = [.cacheControl: "no-store"]
        if let length = upload.length { fields[.uploadLength] = "\(length)" }
        if let response = upload.response {
            // A complete upload has a response as soon as its form is processed.
            _ = await response.result
            fields[.uploadComplete] = "?1"
        }
        return response(.ok, call, fields)
    }

    private func append(_ call: inout ResumableCall, to upload: ResumableUploads.Upload) async throws -> HTTPResponse {
        guard call.request.headers[.contentType] == ResumableCall.mediaType else {
            throw Rejection(.unsupportedMediaType, fields: [.acceptPatch: ResumableCall.mediaType])
        }
        guard let given = call.integer(.uploadOffset), let completes = call.completes else {
            throw Rejection(.badRequest)
        }
        guard given == upload.offset else { throw Rejection.mismatch(expected: upload.offset, provided: given) }
        if let response = upload.response {
            guard completes, call.contentLength == 0 else { throw Rejection(.badRequest) }
            return try await response.value
        }
        guard call.contentLength ?? 0 <= configuration.sizeLimit else { throw Rejection(.payloadTooLarge) }
        let end = call.contentLength.map { upload.offset + $0 }
        try await check(&call, end: end ?? 0, length: upload.length)
        if completes, let end {
            guard end == upload.length ?? end else { throw Rejection.inconsistentLength }
            await uploads.setLength(end, of: call.name)
        }
        try await receive(&call, length: upload.length, transfer: upload.transfer)
        guard completes else { return response(.ok, call) }
        return try await uploads.complete(call.name, transfer: upload.transfer).value
    }

    /// Appends the content of a request. What has arrived is kept if the connection ends.
    private func receive(_ call: inout ResumableCall, length: Int?, transfer: Int) async throws {
        var received = 0
        do {
            for try await chunk in call.request.bodySequence {
                try await check(&call, end: (call.offset ?? 0) + chunk.count, length: length)
                try await uploads.append(chunk, to: call.name, transfer: transfer)
                received += chunk.count
                call.offset? += chunk.count
            }
        } catch let rejection as Rejection {
            throw rejection
        } catch let error as ReceiverError {
            throw Rejection(.internalServerError, text: error.description)
        } catch {
            throw Hangup()
        }
        guard call.contentLength ?? received == received else { throw Hangup() }
    }

    /// Rejects content beyond the length of the form, which also removes the upload, and beyond the limit.
    private func check(_ call: inout ResumableCall, end: Int, length: Int?) async throws {
        if let length, end > length {
            await uploads.remove(call.name)
            call.offset = nil
            throw Rejection.inconsistentLength
        }
        guard end <= configuration.sizeLimit else { throw Rejection(.payloadTooLarge) }
    }

    // MARK: Responses

    /// Returns a response of the protocol, not of the application.
    private func response(
        _ status: HTTPStatusCode, _ call: ResumableCall, _ fields: HTTPHeaders = [:]
    ) -> HTTPResponse {
        HTTPResponse(statusCode: status, headers: headers(call, fields))
    }

    private func rejected(_ rejection: Rejection, _ call: ResumableCall) -> HTTPResponse {
        let text = Data(rejection.text.utf8)
        let headers = headers(call, rejection.fields)
        // An empty body needs no end of the connection.
        guard call.request.bodySequence.count != 0 else {
            return HTTPResponse(statusCode: rejection.status, headers: headers, body: text)
        }
        let rest = call.request.bodySequence
        return ClosingBody(response: text, rest: rest, bytesLeft: rest.count ?? .max)
            .response(rejection.status, headers)
    }

    private func headers(_ call: ResumableCall, _ fields: HTTPHeaders) -> HTTPHeaders {
        let age = call.secondsLeft ?? Int(configuration.unfinishedLifetime / .seconds(1))
        var headers = HTTPHeaders()
        headers[.uploadLimit] = "max-size=\(configuration.sizeLimit), \(call.isOld ? "expires" : "max-age")=\(age)"
        if let offset = call.offset {
            headers[.uploadOffset] = "\(offset)"
            headers[.uploadComplete] = "?0"
        }
        for name in fields.keys { headers.setValues(fields.values(for: name), for: name) }
        return headers
    }
}
