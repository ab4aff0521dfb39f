import WaybillCore

/// When bytes may go from a file into the socket past libcurl, and how many: pure, what was seen is handed in.
///
/// libcurl has no way to `sendfile(2)`: two copies of each byte, out of the file and into the socket, are nearly all that a large
/// upload costs. But it asks for more of a body when it has sent what it was given, or nearly, and says how much it has sent. So
/// where that is all, whoever is asked may first send some of its own on the same socket, and then hand over a few bytes, with
/// which libcurl goes on as ever: it waits until the socket takes more, sees answers and broken connections, and asks again.
/// What went past it, it does not count; so we do.
struct DirectSend {
    /// Whether this transfer may do so at all. Whether it can is seen as it goes.
    let isOpen: Bool
    /// Where in the body those bytes end that went past and may not be acknowledged yet; `nil` when all are.
    private(set) var unsettledEnd: Int64?
    private var patience = Self.firstPatience

    /// libcurl is given this many first: something that it knows to be sent before anything goes past it.
    static let first = 64 << 10
    /// In one go; other transfers want their turn.
    static let atOnce = 4 << 20
    /// The end of a body is always read, and is on its way while the acknowledgement of what went past is.
    static let alwaysRead = 512 << 10
    /// The last bytes wait for that acknowledgement. With them goes the last look at the files, which promises that none was
    /// changed while it was sent.
    static let heldBack = 4 << 10
    static let firstPatience = Duration.milliseconds(1)
    static let longestPatience = Duration.milliseconds(16)

    init(_ request: TransferRequest) {
        isOpen =
            CurlLibrary.takesOurWordForTheEnd && request.options.httpVersion == .http1 && !request.isOverTLS
            && !request.hasProxyOverTLS
            // libcurl compares its count with the length where a challenge comes late, and knows options that we don't.
            && request.options.digest == nil && request.options.curlOptions.isEmpty
            && (request.body?.length ?? 0) > 2 * Self.alwaysRead
    }

    /// How many bytes may go past now.
    static func room(handedOver: Int64, of length: Int64) -> Int {
        Int(max(0, min(Int64(atOnce), length - handedOver - Int64(alwaysRead))))
    }

    /// How many bytes libcurl is given after each go. With fewer unsent ones than a 32nd of its buffer it asks for more, and
    /// would hold something whenever the socket is full.
    static func between(buffer: Int) -> Int {
        max(16 << 10, buffer / 32)
    }

    /// Bytes went past, and end there.
    mutating func note(end: Int64) {
        unsettledEnd = end
        patience = Self.firstPatience
    }

    /// How soon to ask again: each time later, for what is awaited may take a while, and what follows it is on its way.
    mutating func wait() -> Duration {
        defer { patience = min(patience * 2, Self.longestPatience) }
        return patience
    }

    /// How many of the bytes that follow may be read now; 0 to ask again in a moment. What was acknowledged is asked only near
    /// the end.
    mutating func readable(handedOver: Int64, of length: Int64, upTo most: Int, acknowledged: () -> Int64?) -> Int {
        guard let end = unsettledEnd else { return most }
        let left = length - handedOver - Int64(Self.heldBack)
        guard left < most else { return most }
        if let acknowledged = acknowledged(), acknowledged < end { return Int(max(0, left)) }
        unsettledEnd = nil
        return most
    }
}
