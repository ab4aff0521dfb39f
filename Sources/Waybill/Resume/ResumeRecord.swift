/// The state of a resumable upload that another attempt, or another process, needs to continue it. It contains no
/// credential. Its URL should not be printed: at some servers it is enough to change the upload.
struct ResumeRecord: Sendable, Hashable, Codable {
    var dialect = ResumeDialect.draft8
    /// The URL of the upload; `nil` before it is created.
    var url: String?
    /// The length of the body.
    var length: Int64
    /// The number of bytes that the server has confirmed.
    var offset: Int64 = 0
    /// Whether the request that completes the body may have been sent.
    var isCompleting = false
    /// The maximum length of the appends that may have been sent.
    var longestAppend: Int64 = 0
    var limits = ResumeLimits()
    /// The name of the checksum of the appends.
    var checksum: String?
    /// The records of the parts of a tus upload whose parts are sent concurrently; `nil` for any other. Then there is no
    /// URL, and ``isCompleting`` is whether the request that joins the parts may have been sent.
    var parts: [ResumeRecord]?

    init(length: Int64) {
        self.length = length
    }

    /// The end of the bytes that the server can have, by this record.
    var sentEnd: Int64 {
        let (end, isTooLarge) = offset.addingReportingOverflow(longestAppend)
        return isTooLarge ? length : min(length, end)
    }
}

extension ResumeRecord: CustomStringConvertible, CustomReflectable {
    /// The protocol and the position, without the URL.
    var description: String { "record of \(offset) of \(length) bytes, \(dialect.rawValue)" }
    /// Only the description.
    var customMirror: Mirror { Mirror(self, children: ["record": description]) }
}
