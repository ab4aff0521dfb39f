import CardArtist
import Foundation
import LittleStore
import SignedPostKit
import Waybill

@main
struct ServerSignedPost {
    static func main() async throws {
        let keys = KeyRing()
        let store = try await LittleStore(keys: keys)
        let server = try await TicketServer(
            keys: await keys.account(), bucket: "\(store.endpoint)/cards", name: "cards")
        let app = App(tickets: server.url)

        let photo = try await photo()
        let ticket = try await app.ticket(for: "7")
        let status = try await app.post(photo: photo, to: "users/7/front.jpg", with: ticket)
        let size = await store.contents["cards/users/7/front.jpg"]?.bytes.count ?? 0
        print("stored with status \(status), \(ByteCount(bytes: Int64(size)))")

        do {
            _ = try await app.post(photo: photo, to: "users/8/front.jpg", with: ticket)
        } catch {
            print("rejected before sending: \(error)")
        }
        var forged = ticket
        forged.keyPrefix = ""
        do {
            _ = try await app.post(photo: photo, to: "users/8/front.jpg", with: forged)
        } catch let error as UploadError {
            print("rejected by the store with status \(error.response?.status.code ?? 0)")
        }
        await app.close()
        await server.stop()
        await store.stop()
    }

    /// Returns the path of the photo on the command line, or of a generated specimen.
    private static func photo() async throws -> String {
        if let named = CommandLine.arguments.dropFirst().first { return named }
        let directory = FileManager.default.temporaryDirectory.appending(path: "waybill-specimens").path
        return try await CardArtist.cards(in: directory, width: 1_600).front
    }
}
