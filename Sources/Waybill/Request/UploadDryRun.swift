package import HTTPTypes
package import WaybillCore
package import WaybillJPEG
package import WaybillMultipart

/// The request of an upload, prepared and checked by the same code as for sending, but not sent.
package struct UploadDryRun: Sendable {
    /// The method.
    package let method: HTTPRequest.Method
    /// The absolute URL.
    package let url: String
    /// The header fields with the content type, without those that the transport adds.
    package let headers: HTTPFields
    /// The body, if there is one. Its length is `nil` if it would be sent chunked.
    package let body: (any UploadBody)?
    /// The compression options of the image in each part of a form; `nil` for parts without an image.
    package let images: [JPEGOptions?]

    /// Prepares a request.
    ///
    /// - Throws: The ``UploadError`` with which the upload would fail.
    package init(
        _ request: UploadRequest, _ configuration: UploadSession.Configuration
    ) async throws(UploadError) {
        let plan = try RequestPlan(request, configuration)
        do {
            (body, images) = try await Self.body(of: request.content, plan)
        } catch let error as UploadError {
            throw error
        } catch {
            throw UploadError(preparing: error)
        }
        (method, url, headers) = (plan.method, plan.url, try plan.headers(for: body))
    }

    private static func body(
        of content: UploadContent, _ plan: RequestPlan
    ) async throws -> (body: (any UploadBody)?, images: [JPEGOptions?]) {
        switch content.kind {
        case .empty, .notAFile: return (nil, [])
        case .body(let body): return (body, [])
        case .file(let path, let type): return (try FileBody(path: path, contentType: type), [])
        case .form(let form):
            let composed = try await plan.composed(form)
            return (try await composed.prepared(), composed.parts.map(\.imageOptions))
        }
    }
}

extension MultipartPart {
    /// The compression options of the part's image; `nil` for any other part.
    package var imageOptions: JPEGOptions? {
        if case .preparing(let image as ImagePreparing) = content { image.options } else { nil }
    }
}

extension DurableForm {
    /// A part as it is stored.
    package struct WrittenPart: Sendable {
        package let name: String
        package let fileName: String?
        package let contentType: String?
        /// The number of bytes of the content; `nil` if only the name of a credential is known.
        package let count: Int64?
        /// The name of the credential whose value is sent.
        package let credential: String?
    }

    /// The parts in the order in which they are sent.
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
