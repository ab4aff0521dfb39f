/// The positions of a ticket's values in the JSON response of a backend, as JSON pointers (RFC 6901).
///
/// ```swift
/// // {"data": {"uploadUrl": "https://…", "headers": {"Content-Type": "image/jpeg"}, "expiresIn": 60, "key": "7.jpg"}}
/// var format = TicketFormat(url: "/data/uploadUrl")
/// format.headers = "/data/headers"
/// format.validFor = "/data/expiresIn"
/// ```
///
/// A format is persisted with a ``DurableTicketedUpload``.
public struct TicketFormat: Sendable, Hashable, Codable {
    /// The pointer to the absolute `http` or `https` URL.
    public var url: String
    /// The pointer to the method; `nil` for `PUT`, or `POST` with ``fields``.
    public var method: String?
    /// The pointer to an object with the header fields that the signature covers. Each member is a string, a number, or
    /// an array of them. `null` or a missing object means no header fields. Fields that the transport sets, such as
    /// `Host`, are ignored.
    ///
    /// `Content-Type` is sent only if it is among them, because a presigned URL is often valid only without one.
    public var headers: String?
    /// The pointer to an object with the fields of a form (`multipart/form-data`); `nil` if the file is the whole body.
    /// The fields are sent sorted by name, and the file follows them, as object stores require.
    public var fields: String?
    /// The name of the form's part with the file.
    public var fileField = "file"
    /// The pointer to the number of seconds for which the ticket is valid; `nil` if the response has none.
    public var validFor: String?
    /// The pointer to the time at which the ticket expires: seconds or milliseconds since 1970, RFC 3339
    /// (`2026-11-26T08:15:30Z`), or an HTTP date. The time is compared with the `Date` of the response if it has one,
    /// so that a wrong local clock does no harm.
    public var expiresAt: String?
    /// A ticket that expires within this number of seconds is not used.
    public var marginSeconds: Int64 = 5
    /// Whether a ticket with a method that is not idempotent, such as a form, may be used for the same object twice:
    /// its key is fixed, and no callback or rule against overwriting makes the second request different. A `PUT` of the
    /// same bytes to the same key is always repeated.
    public var isRepeatable = false

    /// Creates a format. All pointers but that of the URL can be set later.
    public init(url: String = "/url") {
        self.url = url
    }

    /// Throws ``UploadError/Code/invalidRequest`` if a pointer is invalid.
    func check() throws(UploadError) {
        for pointer in [url, method, headers, fields, validFor, expiresAt] {
            if let pointer { _ = try JSONPointer(pointer) }
        }
        guard !fileField.isEmpty else {
            throw UploadError(
                .invalidRequest,
                "The name of the part with the file is empty. Set it to the name that the store expects.",
                phase: .preparing)
        }
    }
}
