public import Waybill
public import WaybillOutbox

/// The side of the counter: it hands cards over, and learns how they ended.
public struct Kiosk: Sendable {
    /// One side of a card.
    public struct Photograph: Sendable, Hashable {
        /// The number of the customer's business.
        public var business: String
        /// `front` or `back`.
        public var side: String
        /// The picture, as the camera left it.
        public var path: String

        /// Describes a side.
        public init(business: String, side: String, path: String) {
            self.business = business
            self.side = side
            self.path = path
        }
    }

    /// What pictures may weigh.
    public static let limit = ByteCount.kilobytes(100)
    /// The batch that this counter's cards belong to.
    public static let batch = "counter 7"

    private let outbox: Outbox
    private let url: String

    /// A counter that hands over to an outbox.
    public init(outbox: Outbox, url: String) {
        self.outbox = outbox
        self.url = url
    }

    /// Hands a photograph over. When this returns, it is on the disk: the customer may go, and the camera may be wiped.
    public func handOver(_ photograph: Photograph) async throws(OutboxError) -> OutboxReceipt {
        let form: MultipartForm = [
            .credential("TOKEN", named: "backend"),
            .text("BUSINESSNO", photograph.business),
            .text("DOCTYPE", "ID-\(photograph.side.uppercased())"),
            .image("FILE", path: photograph.path, fileName: "ID-\(photograph.side).jpg", .maxBytes(Self.limit)),
        ]
        var options = EnqueueOptions()
        options.batch = Self.batch
        // The button may be pressed twice, and the program may have ended between the two.
        options.deduplicationKey = "\(photograph.business) \(photograph.side)"
        return try await outbox.enqueue(
            form, to: url, idempotency: .honoured(window: .seconds(86_400)), options: options)
    }
}
