public import struct FoundationEssentials.URL
public import HTTPTypes
public import WaybillCore
public import WaybillMultipart

/// What an upload carries: a form, a file, bytes, a stream, or nothing.
///
/// ```swift
/// try await session.upload(.file(path: "card.jpg", contentType: "image/jpeg"), to: presignedURL)
/// ```
///
/// Nothing is opened when a content is made. The work is done in the phase ``UploadPhase/preparing``, and what it meets
/// is thrown as ``UploadError``.
public struct UploadContent: Sendable {
    enum Kind: Sendable {
        case empty
        case form(MultipartForm)
        case file(path: String, contentType: String?)
        case body(any UploadBody)
        case notAFile(url: String)
    }

    let kind: Kind

    /// No body at all.
    public static let empty = UploadContent(kind: .empty)

    /// A form, sent as `multipart/form-data` (RFC 7578).
    public static func form(_ form: MultipartForm) -> UploadContent { UploadContent(kind: .form(form)) }

    /// The bytes of a regular file, streamed. Sendable again as often as needed.
    ///
    /// The file must stay as it is until the upload ends; a change is noticed and is an error. Without a content type,
    /// the one that goes with the ending of the file's name is sent.
    public static func file(path: String, contentType: String? = nil) -> UploadContent {
        UploadContent(kind: .file(path: path, contentType: contentType))
    }

    /// The bytes of a regular file named by a `file:` URL; another URL is refused when the upload starts.
    public static func file(_ url: URL, contentType: String? = nil) -> UploadContent {
        guard url.isFileURL else { return UploadContent(kind: .notAFile(url: url.absoluteString)) }
        return .file(path: url.path(percentEncoded: false), contentType: contentType)
    }

    /// Bytes in memory.
    public static func data(_ bytes: some Sequence<UInt8>, contentType: String? = nil) -> UploadContent {
        UploadContent(kind: .body(DataBody(Array(bytes), contentType: contentType)))
    }

    /// A sequence of chunks, sent as they come and read no faster than they are sent.
    ///
    /// It can be read once, so the upload is not retried unless `replay` keeps a copy. The length is the exact number of
    /// bytes, or `nil` when nobody knows: the body is then sent chunked (RFC 9112 section 7.1), which some servers refuse
    /// with 411. (A form reads such a stream to its end first, see `UnknownLength`.)
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, contentType: String? = nil, replay: StreamReplay = .never
    ) -> UploadContent where Chunks.Element: Sequence<UInt8> {
        UploadContent(kind: .body(SequenceBody(chunks, length: length, contentType: contentType, replay: replay)))
    }

    /// A body of your own, or a `MultipartBody` that was prepared earlier.
    ///
    /// ```swift
    /// try await session.upload(.body(form.prepared()), to: url)     // POST, as for the form itself
    /// ```
    public static func body(_ body: any UploadBody) -> UploadContent { UploadContent(kind: .body(body)) }
}

extension UploadContent {
    /// The method if the caller names none: `POST` for a form, prepared or not, and `PUT` for everything else.
    public var defaultMethod: HTTPRequest.Method {
        switch kind {
        case .form: .post
        case .body(let body): body is MultipartBody ? .post : .put
        case .empty, .file, .notAFile: .put
        }
    }

    /// The length of the body as far as it is known before the body is prepared.
    func expectedLength() async -> ExpectedLength? {
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
    /// What it is and how large, without a byte of it.
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
