public import struct FoundationEssentials.URL
public import HTTPTypes
public import WaybillCore
public import WaybillMultipart

/// The content of an upload: a form, a file, bytes, a stream, or nothing.
///
/// ```swift
/// try await session.upload(.file(path: "card.jpg", contentType: "image/jpeg"), to: presignedURL)
/// ```
///
/// Creating a content opens nothing. Files are opened in the phase ``UploadPhase/preparing``, and errors are thrown as
/// ``UploadError``.
public struct UploadContent: Sendable {
    package enum Kind: Sendable {
        case empty
        case form(MultipartForm)
        case file(path: String, contentType: String?)
        case body(any UploadBody)
        case notAFile(url: String)
    }

    package let kind: Kind

    /// No body.
    public static let empty = UploadContent(kind: .empty)

    /// Returns a form, sent as `multipart/form-data` (RFC 7578).
    public static func form(_ form: MultipartForm) -> UploadContent { UploadContent(kind: .form(form)) }

    /// Returns the bytes of a regular file, which are streamed and can be sent again any number of times.
    ///
    /// The file must not change until the upload ends; a change is detected and is an error. Without a content type,
    /// the type is derived from the file name extension.
    public static func file(path: String, contentType: String? = nil) -> UploadContent {
        UploadContent(kind: .file(path: path, contentType: contentType))
    }

    /// Returns the bytes of a regular file at a `file:` URL. Any other URL is rejected when the upload starts.
    public static func file(_ url: URL, contentType: String? = nil) -> UploadContent {
        guard url.isFileURL else { return UploadContent(kind: .notAFile(url: url.absoluteString)) }
        return .file(path: url.path(percentEncoded: false), contentType: contentType)
    }

    /// Returns bytes in memory.
    public static func data(_ bytes: some Sequence<UInt8>, contentType: String? = nil) -> UploadContent {
        UploadContent(kind: .body(DataBody(Array(bytes), contentType: contentType)))
    }

    /// Returns a sequence of chunks, which are sent as they arrive. Reading is limited to the speed of sending.
    ///
    /// The sequence can be read once, so the upload is not retried unless `replay` keeps a copy. The length is the
    /// exact number of bytes, or `nil` if unknown. Without a length the body is sent chunked (RFC 9112 section 7.1),
    /// which some servers reject with 411. (A form reads such a stream to its end first: see `UnknownLength`.)
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, contentType: String? = nil, replay: StreamReplay = .never
    ) -> UploadContent where Chunks.Element: Sequence<UInt8> {
        UploadContent(kind: .body(SequenceBody(chunks, length: length, contentType: contentType, replay: replay)))
    }

    /// Returns a custom body, or a `MultipartBody` that was prepared earlier.
    ///
    /// ```swift
    /// try await session.upload(.body(form.prepared()), to: url)     // POST, as for the form itself
    /// ```
    public static func body(_ body: any UploadBody) -> UploadContent { UploadContent(kind: .body(body)) }
}

extension UploadContent {
    /// The default method: `POST` for a form, prepared or not, and `PUT` for everything else.
    public var defaultMethod: HTTPRequest.Method {
        switch kind {
        case .form: .post
        case .body(let body): body is MultipartBody ? .post : .put
        case .empty, .file, .notAFile: .put
        }
    }

    /// Returns the length of the body, if known before the body is prepared.
    package func expectedLength() async -> ExpectedLength? {
        switch kind {
        case .empty: ExpectedLength(0)
        case .form(let form): await form.expectedLength()
        case .file(let path, _): await FileSize.of(path).map { ExpectedLength($0) }
        case .body(let body): body.length.map { ExpectedLength($0) }
        case .notAFile: nil
        }
    }
}

extension UploadContent: CustomStringConvertible {
    /// The type and the size of the content, without its bytes.
    public var description: String {
        switch kind {
        case .empty: "empty"
        case .form(let form): "form of \(form.parts.count) parts"
        case .file(let path, _): "file \(Redaction.escaped(path))"
        case .body(let body): body.length.map { "body of \($0) bytes" } ?? "body of unknown length"
        case .notAFile: "not a file URL"
        }
    }
}
