import CardArtist
import Foundation
import ReceiverKit
import Waybill

/// The whole flow on one machine: a backend, two photos of 12 megapixels, two uploads.
struct Demo {
    /// The directory that caches the photos between runs.
    var directory = ".build/specimen-cards"
    /// The width of the photos in pixels.
    var width = 4_032
    /// Whether a browser shows the uploads: they wait for the page and are slow, and the page stays open afterwards.
    var isWatched = false
    /// The percentage of the first form at which the backend closes the connection, once; `nil` for no cut.
    var cutPercent: Int?

    func run() async throws {
        let cards = try await cards()
        // A random secret for this run. It is not printed.
        let token = String(UInt64.random(in: .min ... .max), radix: 36)
        var configuration = Receiver.Configuration(token: token)
        configuration.cutPercent = cutPercent
        let receiver = try await Receiver.start(configuration)
        let signals = isWatched ? StopSignals() : nil
        let result: Result<Void, any Error>
        if let signals {
            result = await postWatched(cards, to: receiver, token, signals)
        } else {
            result = await post(cards, to: receiver, token)
        }
        await receiver.stop()
        try result.get()
        printLine("The backend has stopped and its files are deleted.")
    }

    /// Writes the two photos as `front.jpg` and `back.jpg` without posting them.
    ///
    /// - Parameter directory: An existing directory. Existing files of these names are replaced.
    /// - Throws: An error if the directory is not writable.
    func writePhotos(to directory: String) async throws {
        for side in CardArtist.Side.allCases {
            let path = "\(directory)/\(side.rawValue).jpg"
            let photo = Data(try await CardArtist.photo(of: side, width: width))
            try photo.write(to: URL(filePath: path), options: .atomic)
            printLine("\(path): \(ByteCount(bytes: Int64(photo.count)))")
        }
    }

    private func cards() async throws -> CardArtist.Cards {
        let start = ContinuousClock.now
        let cards = try await CardArtist.cards(in: directory, width: width)
        printLine("Specimen card: \(cards.front), \(cards.back) (\(Format.seconds(.now - start)))")
        return cards
    }

    /// Posts when the page is open, and runs until SIGINT or SIGTERM.
    private func postWatched(
        _ cards: CardArtist.Cards, to receiver: Receiver, _ token: String, _ signals: StopSignals
    ) async -> Result<Void, any Error> {
        printLine("Open this page in a browser to start the uploads. Press Ctrl-C to end.\n\n  \(receiver.page)\n")
        let work = Task { () -> Result<Void, any Error> in
            await receiver.waitForWatcher()
            if Task.isCancelled { return .success(()) }
            let result = await post(cards, to: receiver, token)
            if case .failure(let error) = result { printLine("\n\(error)") }
            return result
        }
        await signals.wait()
        work.cancel()
        return await work.value
    }

    private func post(
        _ cards: CardArtist.Cards, to receiver: Receiver, _ token: String
    ) async -> Result<Void, any Error> {
        printLine("Backend: \(receiver.url)\n")
        let session = UploadSession()
        let business = Business(token: .secret(token), number: "B-\(UUID().uuidString.prefix(8))")
        do {
            for (side, path) in [("front", cards.front), ("back", cards.back)] {
                // The back is sent only after the front is stored: an error ends the loop.
                var upload = CardUpload(side: side, path: path, business: business)
                if isWatched { upload.rate = .kibibytes(20) }
                if side == "front" { upload.cutPercent = cutPercent }
                try await upload.run(session, to: receiver.url)
            }
            await session.close()
            printLine("\nBoth sides are stored, byte for byte.")
            return .success(())
        } catch {
            await session.close(.cancel)
            return .failure(error)
        }
    }
}
