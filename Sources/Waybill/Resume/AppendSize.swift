/// The length of the next append: adapted to the speed of the connection, and reduced after an interruption that lost
/// everything, within the limits of the server.
struct AppendSize: Sendable, Hashable {
    private var size: Int64
    private let multiple: Int64
    private var maximum: Int64
    private let target: Duration
    /// The length of the last append that was lost. Appends stay below it until several have succeeded.
    private var lost = Int64.max
    private var successes = 0

    init(_ options: ResumeOptions) {
        multiple = max(1, options.appendMultiple.bytes)
        maximum = max(1, options.maximumAppend.bytes)
        target = max(.seconds(1), options.appendTime)
        size = min(max(1, options.firstAppend.bytes), maximum)
    }

    /// Returns the length of an append at an offset of a body, or `nil` if the server's limits allow none.
    func length(at offset: Int64, of total: Int64, limits: ResumeLimits) -> Int64? {
        let rest = total - offset
        var length = min(size, limits.maximumAppend ?? .max)
        if length < rest {
            // The server's limit has precedence over the multiple.
            if length >= multiple { length -= length % multiple }
            length = max(length, limits.minimumAppend ?? 0)
        }
        length = min(length, rest)
        guard length > 0, length <= limits.maximumAppend ?? .max else { return rest == 0 ? 0 : nil }
        return length
    }

    /// Adapts the length after an append of `length` bytes that took `time`.
    mutating func succeeded(length: Int64, after time: Duration) {
        // A shorter append, such as the last one, says nothing about a longer one.
        guard length >= size / 2 else { return }
        if time < target / 2 {
            if size >= lost / 2 {
                successes += 1
                guard successes >= Self.successesBeforeGrowth else { return }
            }
            (lost, successes) = (.max, 0)
            size = min(max(size, length) * 2, maximum)
        } else if time > target * 2 {
            size = max(size / 2, multiple)
        }
    }

    /// Halves the length after an append that was lost, or rejected as too large (`isLimit`).
    ///
    /// - Returns: `false` if it is the minimum already.
    mutating func reduce(below length: Int64, limits: ResumeLimits, isLimit: Bool = false) -> Bool {
        let minimum = max(limits.minimumAppend ?? 0, Self.minimum)
        guard length > minimum else { return false }
        size = max(length / 2, minimum)
        (lost, successes) = (length, 0)
        // The limit of a server or proxy does not change during an upload.
        if isLimit { maximum = size }
        return true
    }

    private static let successesBeforeGrowth = 8

    /// Below it, the heads of the requests and the round trips cost more than the bytes.
    private static let minimum: Int64 = 16_384
}

/// The limits that a server announces for resumable uploads.
struct ResumeLimits: Sendable, Hashable, Codable {
    /// The maximum length of a body.
    var maximumLength: Int64?
    /// The minimum length of a body.
    var minimumLength: Int64?
    /// The maximum length of an append.
    var maximumAppend: Int64?
    /// The minimum length of an append, except the last.
    var minimumAppend: Int64?
    /// The time in seconds after which the server discards the upload.
    var maximumAge: Int64?
}
