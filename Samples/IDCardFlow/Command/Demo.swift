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
    /// Whether a person looks on in a browser: the uploads wait for the page, are slow, and the page stays afterwards.
    var isWatched = false

    func run() async throws {
        let cards = try await cards()
        // A secret of this run: the backend knows it, and nothing prints it.
        let token = String(UInt64.random(in: .min ... .max), radix: 36)
        let receiver = try await Receiver.start(.init(token: token))
        let signals = isWatched ? StopSignals() : nil
        let result: Result<Void, any Error>
        if let signals {
            result = await postWatched(cards, to: receiver, token, signals)
        } else {
            result = await post(cards, to: receiver, token)
        }
        await receiver.stop()
        try result.get()
        say("The backend has stopped and its files are gone.")
    }

    /// Writes the two photographs as `front.jpg` and `back.jpg`, and posts nothing.
    ///
    /// - Parameter directory: An existing directory. Files of these names in it are replaced.
    /// - Throws: When the directory can't be written.
    func writePhotos(to directory: String) async throws {
        for side in CardArtist.Side.allCases {
            let path = "\(directory)/\(side.rawValue).jpg"
            let photo = Data(try await CardArtist.picture(of: side, width: width))
            try photo.write(to: URL(filePath: path), options: .atomic)
            say("\(path): \(ByteCount(bytes: Int64(photo.count)))")
        }
    }

    private func cards() async throws -> CardArtist.Cards {
        let start = ContinuousClock.now
        let cards = try await CardArtist.cards(in: directory, width: width)
        say("Specimen card: \(cards.front), \(cards.back) (\(Wording.seconds(.now - start)))")
        return cards
    }

    /// Posts while somebody looks, and lets them look until they have seen enough.
    private func postWatched(
        _ cards: CardArtist.Cards, to receiver: Receiver, _ token: String, _ signals: StopSignals
    ) async -> Result<Void, any Error> {
        say("Open this in a browser; the uploads begin when the page is there. Ctrl-C ends it.\n\n  \(receiver.page)\n")
        let work = Task { () -> Result<Void, any Error> in
            await receiver.waitForWatcher()
            if Task.isCancelled { return .success(()) }
            let result = await post(cards, to: receiver, token)
            if case .failure(let error) = result { say("\n\(error)") }
            return result
        }
        await signals.wait()
        work.cancel()
        return await work.value
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
                var upload = CardUpload(side: side, path: path, business: business)
                if isWatched { upload.rate = .kibibytes(20) }
                try await upload.run(session, to: receiver.url)
            }
            await session.close()
            say("\nBoth sides are stored, byte for byte.")
            return .success(())
        } catch {
            await session.close(.cancel)
            return .failure(error)
        }
    }
}
