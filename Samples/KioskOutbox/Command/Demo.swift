import CardArtist
import Foundation
import KioskKit
import LittleBackend
import ReceiverKit
import Waybill
import WaybillOutbox

/// The whole story on one machine: two customers, a worker that is killed twice, and a kiosk that was not there.
struct Demo {
    /// Where the pictures are kept from run to run.
    var cards = ".build/specimen-cards"
    /// The width of the pictures in pixels.
    var width = 4_032
    /// The outbox; `nil` for one that is gone afterwards.
    var outbox: String?

    func run() async throws {
        let pictures = try await CardArtist.cards(in: cards, width: width)
        let random = String(UInt64.random(in: 0 ... .max), radix: 36)
        let token = ProcessInfo.processInfo.environment["KIOSK_TOKEN"] ?? random
        let backend = try await LittleBackend(token: token)
        let folder = outbox ?? FileManager.default.temporaryDirectory.appending(path: "kiosk-\(UUID().uuidString)").path
        say("Backend: \(backend.url)\nOutbox:  \(folder)")
        let story = Story(backend: backend, folder: folder, token: token)
        let result: Result<Void, any Error>
        do {
            try await story.tell(photographs(pictures))
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await backend.stop()
        if outbox == nil { try? FileManager.default.removeItem(atPath: folder) }
        try result.get()
        say("\nEvery side arrived once, byte for byte, and the kiosk knows it.")
    }

    private func photographs(_ cards: CardArtist.Cards) -> [Kiosk.Photograph] {
        ["B-0001", "B-0002"].flatMap { business in
            [("front", cards.front), ("back", cards.back)].map {
                Kiosk.Photograph(business: business, side: $0.0, path: $0.1)
            }
        }
    }
}

/// What is not as it should be.
struct Mismatch: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    static func unless(_ isRight: Bool, _ problem: @autoclosure () -> String) throws {
        if !isRight { throw Mismatch(problem()) }
    }
}
