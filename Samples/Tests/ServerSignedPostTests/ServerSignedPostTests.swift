import CardArtist
import Foundation
import LittleStore
import SignedPostKit
import Testing
import Waybill
import WaybillStores

@Suite(.timeLimit(.minutes(2))) struct ServerSignedPostTests {
    /// Runs a test with a store, a server that signs for its bucket, an app, and a photo.
    private func withServers<Value>(
        _ body: (LittleStore, App, String) async throws -> Value
    ) async throws -> Value {
        let keys = KeyRing()
        let store = try await LittleStore(keys: keys)
        let server = try await TicketServer(
            keys: await keys.account(), bucket: "\(store.endpoint)/cards", name: "cards")
        let app = App(tickets: server.url)
        let path = FileManager.default.temporaryDirectory.appending(path: "waybill-\(UUID().uuidString).jpg").path
        try Data(await CardArtist.photo(of: .back, width: 1_000)).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let value = try await body(store, app, path)
        await app.close()
        await server.stop()
        await store.stop()
        return value
    }

    @Test func `a photo is posted with a ticket`() async throws {
        try await withServers { store, app, photo in
            let ticket = try await app.ticket(for: "7")
            #expect(ticket.keyPrefix == "users/7/")
            #expect(!"\(ticket)".contains("OSS4-HMAC"))
            let status = try await app.post(photo: photo, to: "users/7/a.jpg", with: ticket)
            #expect(status == 204)
            let object = try #require(await store.contents["cards/users/7/a.jpg"])
            #expect(object.bytes.starts(with: [0xff, 0xd8]) && object.bytes.count <= 102_400)
        }
    }

    @Test func `a ticket is limited to one directory by the client and by the store`() async throws {
        try await withServers { store, app, photo in
            var ticket = try await app.ticket(for: "7")
            let error = await #expect(throws: StoreError.self) {
                _ = try await app.post(photo: photo, to: "users/8/a.jpg", with: ticket)
            }
            #expect(error?.code == .invalidKey)
            ticket.keyPrefix = ""
            let forged = ticket
            let refused = await #expect(throws: UploadError.self) {
                _ = try await app.post(photo: photo, to: "users/8/a.jpg", with: forged)
            }
            #expect(refused?.response?.status.code == 403)
            #expect(await store.contents.isEmpty)
        }
    }
}
