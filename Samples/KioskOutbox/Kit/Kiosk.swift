public import Waybill
public import WaybillOutbox

/// The program at the counter: it enqueues photos of cards.
public struct Kiosk: Sendable {
    /// One side of a card.
    public struct Photo: Sendable, Hashable {
        /// The business number of the customer.
        public var business: String
        /// `front` or `back`.
        public var side: String
        /// The path of the original photo.
        public var path: String

        /// Creates the description of a side.
        public init(business: String, side: String, path: String) {
            self.business = business
            self.side = side
            self.path = path
        }
    }

    /// The largest size of a compressed photo.
    public static let limit = ByteCount.kilobytes(100)
    /// The batch of the cards of this counter.
    public static let batch = "counter 7"

    private let outbox: Outbox
    private let url: String

    /// Creates a kiosk that enqueues to an outbox.
    public init(outbox: Outbox, url: String) {
        self.outbox = outbox
        self.url = url
    }

    /// Enqueues a photo. It is durable on return: the original may be deleted.
    public func enqueue(_ photo: Photo) async throws(OutboxError) -> OutboxReceipt {
        let form: MultipartForm = [
            .credential("TOKEN", named: "backend"),
            .text("BUSINESSNO", photo.business),
            .text("DOCTYPE", "ID-\(photo.side.uppercased())"),
            .image("FILE", path: photo.path, fileName: "ID-\(photo.side).jpg", .maxBytes(Self.limit)),
        ]
        var options = EnqueueOptions()
        options.batch = Self.batch
        // A second press of the button adds no item, even after a restart of the program.
        options.deduplicationKey = "\(photo.business) \(photo.side)"
        return try await outbox.enqueue(
            form, to: url, idempotency: .honoured(window: .seconds(86_400)), options: options)
    }
}
