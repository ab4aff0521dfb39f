public import HTTPTypes
import WaybillCore
public import WaybillMultipart

/// A form that can be persisted and sent again with identical bytes: the boundary is stored, and images are compressed
/// when the form is created.
///
/// ```swift
/// let form = try await DurableForm(
///     [
///         .credential("TOKEN", named: "backend"), .text("BUSINESSNO", "20240001"),
///         .image("FILE", path: "front.jpg", .maxBytes(.kibibytes(100))),
///     ], to: "https://backend.example/upload")
/// ```
///
/// Two deliveries differ only if the value of a named credential has changed.
public struct DurableForm: DurableUpload {
    /// The string `form`.
    public static let kind = "form"

    /// The target of the upload.
    package let target: DurableTarget
    /// The boundary between the parts, which is the same for each delivery.
    public let boundary: String
    private let compatibility: Compatibility
    private(set) var parts: [Part]

    /// Makes a form durable: compresses images and encodes JSON now, and fixes the order, names and types of the parts.
    ///
    /// - Parameters:
    ///   - form: The form.
    ///   - location: An absolute URL.
    ///   - method: The method.
    ///   - headers: Header fields without credentials.
    ///   - credential: The named credential of the request.
    ///   - idempotency: The server's support for idempotency keys.
    ///   - resumption: The protocol by which a large form continues after an interruption; `nil` to send it in one
    ///     request.
    ///   - boundary: The boundary; random by default.
    /// - Throws: ``UploadError``. The code is ``UploadError/Code/notDurable`` for a stream or a secret text, and the
    ///   message names the alternative. Other codes describe errors of the form, its files and images.
    public init(
        _ form: MultipartForm, to location: some UploadLocation, method: HTTPRequest.Method = .post,
        headers: HTTPFields = [:], credential: DurableCredential? = nil, idempotency: Idempotency = .ignored,
        resumption: ResumeProtocol? = nil, boundary: MultipartBoundary = .random()
    ) async throws(UploadError) {
        target = try DurableTarget(
            method, location, headers: headers, credential: credential, idempotency: idempotency,
            resumption: resumption)
        self.boundary = boundary.description
        compatibility = Compatibility(form.compatibility)
        var names: [String] = []
        let open = try Self.withoutCredentials(form, names: &names)
        let fixed: MultipartForm
        do throws(BodyError) {
            fixed = try await open.resolved()
            // Report an invalid header or boundary now, while the caller can still handle it.
            _ = try await fixed.prepared(boundary: boundary)
        } catch {
            guard error.code != .bodyNotReplayable else {
                throw UploadError(.notDurable, error.message, phase: .preparing, part: error.part, cause: error)
            }
            throw UploadError(preparing: error)
        }
        parts = fixed.parts.map { Part($0, credentials: names) }
    }

    /// The lane of its target.
    public var lane: DurableLane { target.lane }

    /// The files of its parts, in order.
    public var files: [DurableFile] {
        get { parts.compactMap(\.source.file) }
        set {
            var next = newValue.makeIterator()
            for index in parts.indices {
                guard case .file(_, let range) = parts[index].source, let file = next.next() else { continue }
                parts[index].source = .file(file, range)
            }
        }
    }

    /// Sends the form once.
    public func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        let body = try await body(delivery.credentials)
        // Check after the body was opened: if the files are unchanged now, the body has the contents that were
        // enqueued.
        for file in files { try await file.check() }
        return try await target.send(.body(body), delivery)
    }

    /// Returns ``DeliveryVerdict/repeatable`` if a second request is safe, otherwise ``DeliveryVerdict/undetermined``.
    public func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict { target.verdict(delivery) }

    /// Returns the body with the values of the credentials.
    package func body(_ credentials: any NamedCredentials) async throws(UploadError) -> MultipartBody {
        var form = MultipartForm()
        form.compatibility = compatibility.value
        // Names were checked when the form was made durable.
        form.compatibility.allowsEmptyNames = true
        for part in parts { form.append(try await part.restored(credentials)) }
        do throws(BodyError) {
            return try await form.prepared(boundary: try MultipartBoundary(quoted: boundary))
        } catch {
            throw UploadError(preparing: error)
        }
    }

    /// Replaces named credentials by placeholders, and rejects secrets that are contained in the form.
    private static func withoutCredentials(
        _ form: MultipartForm, names: inout [String]
    ) throws(UploadError) -> MultipartForm {
        var form = form
        for (index, part) in form.parts.enumerated() {
            switch part.content {
            case .secret, .rawText(_, isSecret: true):
                throw UploadError(
                    .notDurable,
                    "Part \(quoted(part.name)) contains a secret, which can't be persisted. "
                        + "\(Remedy.nameSecretField)",
                    phase: .preparing, part: part.name)
            case .preparing(let preparation as NamedCredentialPart):
                names.append(preparation.credential)
                var placeholder = MultipartPart(
                    part.name, fileName: part.fileName, contentType: part.contentType,
                    content: .rawText(Part.placeholder(names.count - 1), isSecret: false))
                placeholder.headers = part.headers
                form.parts[index] = placeholder
            default: break
            }
        }
        return form
    }
}

extension DurableForm: CustomStringConvertible {
    /// The method, the URL without query, and the number of parts.
    public var description: String { "\(target.method) \(Redaction.url(target.url)) (form of \(parts.count) parts)" }
}
