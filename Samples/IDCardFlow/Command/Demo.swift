import CardArtist
import Foundation
import ReceiverKit
import Waybill

/// The whole flow on one machine: a backend, two pictures of 12 megapixels, two uploads.
struct Demo {
    /// Where the pictures are kept from run to run.
    var directory = ".build/specimen-cards"
    /// The width of the pictures in pixels.
    var width = 4_032

    func run() async throws {
        let cards = try await cards()
        // A secret of this run: the backend knows it, and nothing prints it.
        let token = String(UInt64.random(in: .min ... .max), radix: 36)
        let receiver = try await Receiver.start(.init(token: token))
        let result = await post(cards, to: receiver, token)
        await receiver.stop()
        try result.get()
        say("\nBoth sides are stored, byte for byte. The backend has stopped and its files are gone.")
    }

    private func cards() async throws -> CardArtist.Cards {
        let start = ContinuousClock.now
        let cards = try await CardArtist.cards(in: directory, width: width)
        say("Specimen card: \(cards.front), \(cards.back) (\(Wording.seconds(.now - start)))")
        return cards
    }

    private func post(
        _ cards: CardArtist.Cards, to receiver: Receiver, _ token: String
    ) async -> Result<Void, any Error> {
        say("Backend: \(receiver.url)\n")
        let session = UploadSession()
        let business = Business(token: .secret(token), number: "B-\(UUID().uuidString.prefix(8))")
        do {
            for (side, path) in [("front", cards.front), ("back", cards.back)] {
                // The back goes only after the front has arrived: an error ends the loop.
                try await CardUpload(side: side, path: path, business: business).run(session, to: receiver.url)
            }
            await session.close()
            return .success(())
        } catch {
            await session.close(.cancel)
            return .failure(error)
        }
    }
}
