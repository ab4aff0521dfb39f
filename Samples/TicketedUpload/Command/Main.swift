import CardArtist
import Foundation
import LittleStore
import TicketKit
import Waybill
import WaybillOutbox

@main
struct TicketedUploadCommand {
    static func main() async throws {
        let keys = KeyRing()
        let store = try await LittleStore(keys: keys)
        let backend = try await Backend(
            keys: await keys.account(), bucket: "\(store.endpoint)/cards", name: "cards", expiredTickets: 1)
        let app = App(backend: backend.url)
        let directory = FileManager.default.temporaryDirectory.appending(path: "waybill-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cards = try await CardArtist.cards(in: directory, width: 800)

        // The first ticket has expired: the upload asks for another one.
        let session = UploadSession()
        try await session.run(app.upload(photo: cards.front)) { step, task in
            task.onCompletion { result in
                switch result {
                case .success(let response): print("\(step.rawValue): \(response.status.code)")
                case .failure(let error): print("\(step.rawValue): \(error.response?.status.code ?? 0), expired")
                }
            }
        }

        let outbox = try await Outbox(at: "\(directory)/outbox")
        try await outbox.enqueue(try await app.durableUpload(photo: cards.back))
        try await outbox.runUntilIdle(session: session)
        for result in try await outbox.results() { print("outbox item \(result.item.id): \(result.item.state)") }
        await outbox.close()

        let confirmations = await backend.confirmations
        for (name, object) in await store.contents.sorted(by: { $0.key < $1.key }) {
            let count = confirmations[String(name.dropFirst("cards/".count))] ?? 0
            print("\(name): \(ByteCount(bytes: Int64(object.bytes.count))), confirmed \(count) time(s)")
        }
        await session.close()
        await backend.stop()
        await store.stop()
    }
}
