package import HTTPTypes
package import WaybillCore
package import WaybillJPEG
package import WaybillMultipart

/// An upload up to its first connection: the request checked and joined with the session's settings, the body made, images
/// and all. By the code that uploads are sent with, so what is told of one is what goes out.
package struct UploadRehearsal: Sendable {
    /// The method.
    package let method: HTTPRequest.Method
    /// The absolute URL.
    package let url: String
    /// The header fields, that of the content type among them; those that the transport adds are not.
    package let headers: HTTPFields
    /// The body, if there is one. Its length is `nil` where it would be sent chunked.
    package let body: (any UploadBody)?
    /// What the image of each part of a form has to become, and `nil` for other parts.
    package let images: [JPEGOptions?]

    /// Does all that comes before the connection.
    ///
    /// - Throws: ``UploadError``, the one that the upload would fail with.
    package init(
        _ request: UploadRequest, _ configuration: UploadSession.Configuration
    ) async throws(UploadError) {
        let plan = try RequestPlan(request, configuration)
        var images: [JPEGOptions?] = []
        do {
            switch request.content.kind {
            case .empty, .notAFile: body = nil
            case .body(let made): body = made
            case .form(let form):
                let composed = try await plan.composed(form)
                images = composed.parts.map(\.imageOptions)
                body = try await composed.prepared()
            case .file(let path, let type): body = try FileBody(path: path, contentType: type)
            }
        } catch let error as UploadError {
            throw error
        } catch {
            throw UploadError(preparing: error)
        }
        self.images = images
        (method, url, headers) = (plan.method, plan.url, try plan.headers(for: body))
    }
}

extension MultipartPart {
    /// What a part of an image has to become; `nil` for any other part.
    package var imageOptions: JPEGOptions? {
        if case .preparing(let image as ImagePreparing) = content { image.options } else { nil }
    }
}

extension DurableForm {
    /// A part as it was written down.
    package struct WrittenPart: Sendable {
        package let name: String
        package let fileName: String?
        package let contentType: String?
        /// Bytes of the content; `nil` where only the name of a credential is known.
        package let count: Int64?
        /// The credential that stands there.
        package let credential: String?
    }

    /// The parts, in the order in which they go out.
    package var writtenParts: [WrittenPart] {
        parts.map { part in
            let (count, credential): (Int64?, String?) =
                switch part.source {
                case .inline(let bytes): (Int64(bytes.count), nil)
                case .credential(let name): (nil, name)
                case .file(let file, let range): (range.map { $0.upperBound - $0.lowerBound } ?? file.count, nil)
                }
            return WrittenPart(
                name: part.name, fileName: part.fileName, contentType: part.contentType, count: count,
                credential: credential)
        }
    }
}
