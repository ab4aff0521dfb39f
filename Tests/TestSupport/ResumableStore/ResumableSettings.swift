extension ResumableServer {
    /// A set of protocols for resumable uploads.
    package struct Dialect: OptionSet, Sendable, Hashable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        /// tus 1.0.0.
        package static let tus = Dialect(rawValue: 1)
        /// draft-ietf-httpbis-resumable-upload with interop version 8 (drafts -09 to -11).
        package static let draft8 = Dialect(rawValue: 2)
        /// draft-ietf-httpbis-resumable-upload with interop version 6 (drafts -04 and -05).
        package static let draft6 = Dialect(rawValue: 4)

        /// The interop version of the draft; `nil` for tus.
        var interopVersion: Int? {
            switch self {
            case .draft8: 8
            case .draft6: 6
            default: nil
            }
        }
    }

    /// The limits of a server, in bytes and seconds.
    package struct Limits: Sendable, Hashable {
        /// The largest representation.
        package var maxSize: Int?
        /// The smallest representation for which an upload resource is created. Not used by tus.
        package var minSize: Int?
        /// The largest content of a request.
        package var maxAppend: Int?
        /// The smallest content of a request that neither completes an upload nor is an empty creation.
        package var minAppend: Int?
        /// The announced lifetime of an upload. It is not enforced: use ``ResumableServer/forget(_:status:)``.
        package var maxAge: Int?

        package init() {}

        /// Returns the value of `Upload-Limit`; `min-size=0` without limits.
        func field(interopVersion: Int) -> String {
            let members = [
                ("max-size", maxSize), ("min-size", minSize), ("max-append-size", maxAppend),
                ("min-append-size", minAppend), (interopVersion < 7 ? "expires" : "max-age", maxAge),
            ]
            let text = members.compactMap { name, value in value.map { "\(name)=\($0)" } }.joined(separator: ", ")
            return text.isEmpty ? "min-size=0" : text
        }
    }

    /// The form of the `Location` of an upload.
    package enum LocationStyle: Sendable, Hashable {
        /// `/uploads/1`.
        case path
        /// A reference relative to the target of the creation, such as `../uploads/1`.
        case relative
        /// `http://`, the `Host` of the creation, and the path.
        case absolute
        /// An origin, such as `http://other.example:8080`, and the path.
        case origin(String)
    }

    /// The configuration of a ``ResumableServer``. Changes apply to later requests.
    package struct Settings: Sendable {
        /// The protocols that are supported. A request that uses none of them is an ordinary upload.
        package var dialects = Dialect.draft8
        /// The path before the identifiers of uploads. All other paths create uploads.
        package var uploadPrefix = "/uploads/"
        /// The form of `Location`.
        package var location = LocationStyle.path
        /// The limits. They are announced and enforced.
        package var limits = Limits()
        /// A rule of some vendors: the content of each request but the last must be a multiple of this size, otherwise
        /// the response is `400`.
        package var appendMultiple: Int?

        /// Draft: whether a creation is announced with a `104` before its content is read.
        package var sendsInterim = true
        /// Draft: the number of content bytes after which a `104` with the current offset is sent.
        package var interimEvery: Int?
        /// Draft 8: whether successful responses to incomplete creations and appends contain `Upload-Offset`. Draft 6
        /// requires it.
        package var reportsOffsets = true
        /// Draft: the status of a successful offset retrieval, `204` or `200`.
        package var offsetStatus = 204
        /// Draft 8: whether an empty completing append to a completed upload receives the application's response again.
        /// Draft 6 requires a rejection.
        package var replaysResponse = true

        /// tus: the supported versions, preferred first. The first one is sent in `Tus-Resumable`.
        package var tusVersions = ["1.0.0"]
        /// tus: the supported extensions.
        package var tusExtensions = [
            "creation", "creation-with-upload", "creation-defer-length", "termination", "checksum", "checksum-trailer",
            "concatenation",
        ]
        /// tus: the supported checksum algorithms, of `sha1` and `sha256`.
        package var tusChecksums = ["sha1", "sha256"]
        /// tus: the value of `Upload-Expires` for unfinished uploads, as an HTTP date. It is not enforced: use
        /// ``ResumableServer/forget(_:status:)``.
        package var uploadExpires: String?

        /// tus: whether partial uploads remain accessible after their concatenation.
        package var keepsParts = true

        /// The status for uploads that were deleted, invalidated or forgotten. An unknown upload is always `404`.
        package var goneStatus = 404
        /// Whether uploads remain accessible after they are complete.
        package var keepsCompleted = true
        /// Whether a request that was cut leaves nothing, as behind a proxy that buffers requests. A creation that was
        /// cut leaves no upload, and no interim response precedes the end of the content.
        package var storesOnlyWholeRequests = false
        /// The methods that a proxy rejects with `405`.
        package var barredMethods: Set<String> = []
        /// The largest request content that a proxy accepts. Others are rejected with a `413` without any field of the
        /// protocol.
        package var proxyBodyLimit: Int?
        /// Whether the bytes of uploads are kept; otherwise only their number and digest. `Repr-Digest` is ignored if
        /// they are not. A request that is stored only as a whole is buffered in any case.
        package var keepsBodies = true

        package init() {}
    }
}
