import Foundation
import LittleStore
import Testing
import TicketKit
import Waybill
import WaybillOutbox

@Suite(.timeLimit(.minutes(2))) struct TicketedUploadTests {
    private let photo = [UInt8]("a photo".utf8)

    /// Runs a test with a store, a backend with expired tickets, an app, and a directory with `photo.jpg`.
    private func withServers<Value>(
        expiredTickets: Int, _ body: (LittleStore, Backend, App, String) async throws -> Value
    ) async throws -> Value {
        let keys = KeyRing()
        let store = try await LittleStore(keys: keys)
        let backend = try await Backend(
            keys: await keys.account(), bucket: "\(store.endpoint)/cards", name: "cards",
            expiredTickets: expiredTickets)
        let directory = FileManager.default.temporaryDirectory.appending(path: "waybill-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try Data(photo).write(to: URL(filePath: "\(directory)/photo.jpg"))
        let value = try await body(store, backend, App(backend: backend.url), directory)
        await backend.stop()
        await store.stop()
        return value
    }

    private func expectStored(_ store: LittleStore, _ backend: Backend, tickets: Int) async {
        #expect(await store.contents == ["cards/photo-1.jpg": stored])
        #expect(await backend.confirmations == ["photo-1.jpg": 1])
        #expect(await backend.tickets == tickets)
    }

    private var stored: LittleStore.Object { LittleStore.Object(bytes: photo, contentType: "image/jpeg") }

    @Test(arguments: [0, 1, 2]) func `a session replaces expired tickets`(_ expired: Int) async throws {
        try await withServers(expiredTickets: expired) { store, backend, app, directory in
            let session = UploadSession()
            try await session.run(app.upload(photo: "\(directory)/photo.jpg"))
            await session.close()
            await expectStored(store, backend, tickets: expired + 1)
        }
    }

    @Test func `three expired tickets are an error`() async throws {
        try await withServers(expiredTickets: 3) { store, _, app, directory in
            let session = UploadSession()
            let error = await #expect(throws: UploadError.self) {
                try await session.run(app.upload(photo: "\(directory)/photo.jpg"))
            }
            await session.close()
            #expect(error?.code == .ticketExpired)
            #expect(await store.contents.isEmpty)
        }
    }

    @Test(arguments: [0, 1]) func `an outbox asks for a ticket when the turn of the item comes`(
        _ expired: Int
    ) async throws {
        try await withServers(expiredTickets: expired) { store, backend, app, directory in
            let outbox = try await Outbox(at: "\(directory)/outbox")
            try await outbox.enqueue(try await app.durableUpload(photo: "\(directory)/photo.jpg"))
            #expect(await backend.tickets == 0)
            let session = UploadSession()
            try await outbox.runUntilIdle(session: session)
            await session.close()
            await outbox.close()
            await expectStored(store, backend, tickets: expired + 1)
        }
    }
}
