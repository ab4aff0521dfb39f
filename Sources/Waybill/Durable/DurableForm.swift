public import HTTPTypes
import WaybillCore
public import WaybillMultipart

/// A form that can be written down and sent again, byte for byte: the boundary is kept, and images were made when it was.
///
/// ```swift
/// let form = try await DurableForm(
///     [
///         .credential("TOKEN", named: "backend"), .text("BUSINESSNO", "20240001"),
///         .image("FILE", path: "front.jpg", .maxBytes(.kibibytes(100))),
///     ], to: "https://backend.example/upload")
/// ```
///
/// Two sendings differ at most in what a credential's name stood for at the time.
public struct DurableForm: DurableUpload {
    /// `form`.
    public static let kind = "form"

    /// Where it goes.
    public let target: DurableTarget
    /// Text that separates the parts, the same each time.
    public let boundary: String
    private let compatibility: Compatibility
    private(set) var parts: [Part]

    /// Makes a form durable: images and JSON are made now, parts get their final order, names and types.
    ///
    /// - Parameters:
    ///   - form: The form.
    ///   - location: An absolute URL.
    ///   - method: The method.
    ///   - headers: Header fields; none that carries a credential.
    ///   - credential: The credential of the request, by its name.
    ///   - idempotency: What the server makes of the key that goes along.
    ///   - boundary: Leave it out.
    /// - Throws: ``UploadError``. With ``UploadError/Code/notDurable`` for a stream or a secret text, saying what to give
    ///   instead; else whatever is wrong with the form, its files and images.
    public init(
        _ form: MultipartForm, to location: some UploadLocation, method: HTTPRequest.Method = .post,
        headers: HTTPFields = [:], credential: DurableCredential? = nil, idempotency: Idempotency = .ignored,
        boundary: MultipartBoundary = .random()
    ) async throws(UploadError) {
        target = try DurableTarget(
            method, location, headers: headers, credential: credential, idempotency: idempotency)
        self.boundary = boundary.description
        compatibility = Compatibility(form.compatibility)
        var names: [String] = []
        let open = try Self.withoutCredentials(form, names: &names)
        let fixed: MultipartForm
        do throws(BodyError) {
            fixed = try await open.fixed()
            // What is wrong with a header or a boundary shows now and not when nobody is there to see it.
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

    /// The files of its parts, in their order.
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

    /// Sends it once.
    public func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        let body = try await body(delivery.credentials)
        // After the body was made: what it found then is what was handed over, if that is still there now.
        for file in files { try await file.check() }
        return try await target.send(.body(body), delivery)
    }

    /// ``DeliveryVerdict/absent`` where a second one does no harm, else ``DeliveryVerdict/cannotTell``.
    public func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict { target.verdict(delivery) }

    /// The bytes, with credentials in their places.
    package func body(_ credentials: any NamedCredentials) async throws(UploadError) -> MultipartBody {
        var form = MultipartForm()
        form.compatibility = compatibility.value
        // Names were looked at when the form was made durable.
        form.compatibility.allowsEmptyNames = true
        for part in parts { form.append(try await part.restored(credentials)) }
        do throws(BodyError) {
            return try await form.prepared(boundary: try MultipartBoundary(quoted: boundary))
        } catch {
            throw UploadError(preparing: error)
        }
    }

    /// Puts marks in the place of named credentials, and refuses those that are there by themselves.
    private static func withoutCredentials(
        _ form: MultipartForm, names: inout [String]
    ) throws(UploadError) -> MultipartForm {
        var form = form
        for (index, part) in form.parts.enumerated() {
            switch part.content {
            case .secret, .rawText(_, isSecret: true):
                throw UploadError(
                    .notDurable,
                    "the text of part \(quoted(part.name)) is a secret, and secrets are not written down. "
                        + "\(Remedy.nameSecretField)",
                    phase: .preparing, part: part.name)
            case .preparing(let preparation as NamedCredentialPart):
                names.append(preparation.credential)
                var mark = MultipartPart(
                    part.name, fileName: part.fileName, contentType: part.contentType,
                    content: .rawText(Part.mark(names.count - 1), isSecret: false))
                mark.headers = part.headers
                form.parts[index] = mark
            default: break
            }
        }
        return form
    }
}

extension DurableForm: CustomStringConvertible {
    /// Method, URL without query, and the number of parts.
    public var description: String { "\(target.method) \(Redaction.url(target.url)) (form of \(parts.count) parts)" }
}
