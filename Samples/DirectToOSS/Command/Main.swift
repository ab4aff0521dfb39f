import CardArtist
import DirectKit
import Foundation
import LittleStore
import Waybill

@main
struct DirectToOSS {
    static func main() async throws {
        let keys = KeyRing()
        let store = try await LittleStore(keys: keys)
        let tokens = try await TokenServer(keys: keys)
        let app = try App(tokens: tokens.url, endpoint: store.endpoint, bucket: "cards")

        let photos = try await photos()
        for (number, photo) in photos.enumerated() {
            let size = try Data(contentsOf: URL(filePath: photo)).count
            let small = try await app.upload(photo: photo, to: "2026/\(number + 1)/small.jpg")
            let whole = try await app.upload(file: photo, to: "2026/\(number + 1)/original.jpg")
            let stored = await store.contents
            let bytes = stored["cards/2026/\(number + 1)/small.jpg"]?.bytes.count ?? 0
            print("\(ByteCount(bytes: Int64(size))) -> \(ByteCount(bytes: Int64(bytes)))  \(small.url)")
            print("  and as it is: \(whole.url)")
        }
        print("keys were fetched \(await tokens.requestCount) time(s) for \(await store.contents.count) uploads")
        await app.close()
        await tokens.stop()
        await store.stop()
    }

    /// Returns the paths of the photos on the command line, or of two generated specimens.
    private static func photos() async throws -> [String] {
        let named = Array(CommandLine.arguments.dropFirst())
        guard named.isEmpty else { return named }
        let directory = FileManager.default.temporaryDirectory.appending(path: "waybill-specimens").path
        let cards = try await CardArtist.cards(in: directory, width: 1_600)
        return [cards.front, cards.back]
    }
}
