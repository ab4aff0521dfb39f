public import WaybillCore

/// The protocol of a resumable upload.
public struct ResumeProtocol: Sendable, Hashable, Codable, CustomStringConvertible {
    enum Choice: String, Sendable, Hashable, Codable { case automatic, draft, tus }
    let choice: Choice

    /// The protocol that the server offers in its response to OPTIONS: tus for a file, bytes or a stream, otherwise the
    /// IETF draft. If the server supports neither and cannot have acted on a request, the upload is sent as an ordinary
    /// request, which can't be resumed.
    public static let automatic = ResumeProtocol(choice: .automatic)
    /// The IETF draft (draft-ietf-httpbis-resumable-upload), interop version 8 or 6. The body can be of any type, so
    /// forms are sent unchanged. An upload fails with ``UploadError/Code/resumptionUnsupported`` if the server does not
    /// support it.
    public static let draft = ResumeProtocol(choice: .draft)
    /// tus 1.0.0. The server stores the body as a file: it does not parse forms. An upload fails with
    /// ``UploadError/Code/resumptionUnsupported`` if the server does not support it.
    public static let tus = ResumeProtocol(choice: .tus)

    /// `automatic`, `draft` or `tus`.
    public var description: String { choice.rawValue }

    /// Creates a protocol from its ``description``; `nil` for other texts.
    public init?(_ description: String) {
        guard let choice = Choice(rawValue: description) else { return nil }
        self.choice = choice
    }

    private init(choice: Choice) {
        self.choice = choice
    }
}

/// The options of resumable uploads, which continue after an interruption where the server's program has stored the
/// body, instead of starting again.
///
/// ```swift
/// try await session.upload(form, to: url, options: .resumable())
/// ```
///
/// The body is sent in several requests, called appends. Each begins where the server has stored the body, so a byte is
/// never stored twice, and only the last one makes the server act. After any failure the server is asked first, so most
/// failures that leave an ordinary upload ``WaybillCore/UploadOutcome/unknown`` are repeated safely.
///
/// The body must be replayable, and a form must have a known length. With ``ResumeProtocol/automatic`` other bodies are sent
/// as ordinary requests; with the other protocols they are errors.
public struct ResumeOptions: Sendable, Hashable {
    /// The protocol.
    public var `protocol`: ResumeProtocol
    /// The length below which a body is sent as an ordinary request, because the additional requests cost more than
    /// sending it again. Applies only to ``ResumeProtocol/automatic``. Also the minimum length of a parallel part. 1 MiB
    /// by default.
    public var minimumLength: ByteCount = .mebibytes(1)
    /// The length of the first append. It is adapted to the connection later. 4 MiB by default.
    public var firstAppend: ByteCount = .mebibytes(4)
    /// The maximum length of an append. 64 MiB by default.
    public var maximumAppend: ByteCount = .mebibytes(64)
    /// The number of which the length of each append except the last is a multiple, as some servers require. 256 KiB by
    /// default.
    public var appendMultiple: ByteCount = .kibibytes(256)
    /// The time that an append should take. A shorter time loses less after an interruption, because some servers and
    /// proxies discard the bytes of an incomplete request. 15 seconds by default.
    public var appendTime: Duration = .seconds(15)
    /// The maximum number of parts of the body that are sent concurrently, with HTTP/1.1 each on a connection of its own,
    /// from 1 to 16; other values count as the nearest of these. 1 by default, which sends the body in order.
    ///
    /// Parts make an upload faster where one connection does not use the whole bandwidth. Only tus supports them, with
    /// its extension `concatenation`: each part is a resumable upload, and a last request joins them. Without that
    /// extension in the server's response to OPTIONS, the body is sent in order, without an error. So is a body that does
    /// not consist of files and bytes in memory. Each part has at least ``minimumLength``, so a short body has fewer parts.
    ///
    /// If the response to the last request is lost, the outcome is ``WaybillCore/UploadOutcome/unknown``: a second request
    /// could create a second file. Without parts, the server can be asked.
    public var parallelParts = 1
    /// The metadata of a tus upload. Names must be ASCII without spaces and commas. `nil` sends the file name and the
    /// content type as `filename` and `filetype`, if there are any.
    public var metadata: [String: String]?
    /// Checksums for the appends, preferred first. The first one that the server supports is used: for tus one that its
    /// response to OPTIONS lists, for the IETF draft the first with a name in RFC 9530. If it supports none, the upload
    /// has no checksums; neither has one that an earlier process began without them. Each append is then read twice, first to compute its checksum. Empty by default.
    public var checksums: [ResumeChecksum] = []
    /// The directory of the records that let another process continue the upload; `nil` to keep them in memory only. By
    /// default ``ResumeRecordDirectory/standard``.
    public var records: ResumeRecordDirectory? = .standard

    /// Creates options with the defaults.
    public init(_ protocol: ResumeProtocol = .automatic) {
        self.protocol = `protocol`
    }
}

/// Options of resumable uploads behind one reference.
final class ResumeBox: Sendable, Hashable {
    let options: ResumeOptions
    /// The storage of the record; `nil` for the directory in the options.
    let storage: ResumeRecordStore?

    init(_ options: ResumeOptions, storage: ResumeRecordStore? = nil) {
        self.options = options
        self.storage = storage
    }

    static func == (left: ResumeBox, right: ResumeBox) -> Bool {
        left.options == right.options && left.storage === right.storage
    }
    func hash(into hasher: inout Hasher) { hasher.combine(options) }
}

extension UploadOptions {
    /// Returns the default options with resumable uploads.
    public static func resumable(_ protocol: ResumeProtocol = .automatic) -> UploadOptions {
        var options = UploadOptions()
        options.resume = ResumeOptions(`protocol`)
        return options
    }
}
