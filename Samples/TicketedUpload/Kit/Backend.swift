import FlyingFox
import FlyingSocks
import Foundation
import LittleStore
import WaybillCore
import WaybillStores

/// Your backend: `POST /tickets` signs a URL for one object, valid for a minute, and `POST /photos/KEY` confirms it.
///
/// The object key depends on the `Idempotency-Key`, so that a repeated request is for the same object. Each request
/// gets a new signature. A confirmation is counted once for each key.
public final class Backend: Sendable {
    /// The URL: `http://127.0.0.1:1234`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>
    private let photos: PhotoTable

    /// Starts the server on a free port.
    ///
    /// - Parameters:
    ///   - keys: The keys of the account. They are not sent to the app.
    ///   - bucket: The URL of the bucket.
    ///   - name: The name of the bucket.
    ///   - expiredTickets: The number of tickets, from the first, that expired a minute ago.
    /// - Throws: An error if the server cannot listen.
    public init(keys: KeyRing.Keys, bucket: String, name: String, expiredTickets: Int = 0) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        let photos = PhotoTable(expiredTickets: expiredTickets)
        await server.appendRoute("POST /tickets") { request in
            guard let key = Self.idempotencyKey(request) else { return HTTPResponse(statusCode: .badRequest) }
            let (photo, age) = await photos.photo(for: key)
            let date = Date(timeIntervalSinceNow: -age)
            let ticket = try Self.ticket(photo, keys, bucket, name, date)
            return HTTPResponse(
                statusCode: .ok, headers: [.contentType: "application/json"],
                body: try JSONEncoder().encode(["data": ticket]))
        }
        await server.appendRoute("POST /photos/*") { request in
            guard let key = Self.idempotencyKey(request) else { return HTTPResponse(statusCode: .badRequest) }
            await photos.confirm(String(request.path.dropFirst("/photos/".count)), key: key)
            return HTTPResponse(statusCode: .ok)
        }
        self.server = server
        self.photos = photos
        running = Task { try await server.run() }
        try await server.waitUntilListening(timeout: 5)
        guard case .ip4(_, let port) = await server.listeningAddress else { throw CancellationError() }
        url = "http://127.0.0.1:\(port)"
    }

    /// The number of tickets.
    public var tickets: Int { get async { await photos.tickets } }

    /// The number of effects of confirmations, by object key.
    public var confirmations: [String: Int] { get async { await photos.confirmations } }

    /// Closes the port.
    public func stop() async {
        await server.stop()
        running.cancel()
    }

    private static func idempotencyKey(_ request: HTTPRequest) -> String? {
        request.headers[HTTPHeader("Idempotency-Key")].flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func ticket(
        _ photo: String, _ keys: KeyRing.Keys, _ bucket: String, _ name: String, _ date: Date
    ) throws -> Ticket {
        var request = OSSRequestToSign(.put, bucket: name, key: photo)
        request.headers[.contentType] = "image/jpeg"
        let credentials = StoreCredentials(accessKeyID: keys.id, accessKeySecret: .secret(keys.secret))
        let material = try OSSSigningMaterial(
            request,
            rules: OSSSigningRules(.v4, region: "cn-hangzhou", placement: .query(validFor: .seconds(60))),
            identity: credentials.identity, date: date)
        let signed = material.signed(with: material.signature(with: credentials.accessKeySecret))
        let upload = try OSSPresignedUpload(signed, at: "\(bucket)/\(photo)")
        return Ticket(url: upload.url.value, headers: ["Content-Type": "image/jpeg"], expiresIn: 60, photo: photo)
    }

    private struct Ticket: Encodable {
        let url: String
        let headers: [String: String]
        let expiresIn: Int
        let photo: String
    }
}

/// The photos by the key of the request for their ticket, and their confirmations.
private actor PhotoTable {
    private(set) var tickets = 0
    private(set) var confirmations: [String: Int] = [:]
    private var photos: [String: String] = [:]
    private var confirmed: Set<String> = []
    private let expiredTickets: Int

    init(expiredTickets: Int) {
        self.expiredTickets = expiredTickets
    }

    /// Returns the name of a photo, and the age of its ticket in seconds. Expired tickets differ in age, because URLs
    /// signed in the same second are the same.
    func photo(for key: String) -> (photo: String, age: Double) {
        let photo = photos[key] ?? "photo-\(photos.count + 1).jpg"
        photos[key] = photo
        tickets += 1
        return (photo, tickets <= expiredTickets ? 120 + Double(tickets) : 0)
    }

    func confirm(_ photo: String, key: String) {
        guard confirmed.insert(key).inserted else { return }
        confirmations[photo, default: 0] += 1
    }
}
