import CardArtist
import Foundation
import KioskKit
import LittleBackend
import ReceiverKit
import Waybill
import WaybillOutbox

/// The complete scenario on one machine: two customers, workers of which two are killed, and a kiosk that restarts.
struct Demo {
    /// The directory that caches the images between runs.
    var cards = ".build/specimen-cards"
    /// The width of the images in pixels.
    var width = 4_032
    /// The directory of the outbox; `nil` for a temporary one.
    var outbox: String?

    func run() async throws {
        let images = try await CardArtist.cards(in: cards, width: width)
        let random = String(UInt64.random(in: 0 ... .max), radix: 36)
        let token = ProcessInfo.processInfo.environment["KIOSK_TOKEN"] ?? random
        let backend = try await LittleBackend(token: token)
        let directory =
            outbox ?? FileManager.default.temporaryDirectory.appending(path: "kiosk-\(UUID().uuidString)").path
        printLine("Backend: \(backend.url)\nOutbox:  \(directory)")
        let scenario = Scenario(backend: backend, directory: directory, token: token)
        let result: Result<Void, any Error>
        do {
            try await scenario.run(photos(images))
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await backend.stop()
        if outbox == nil { try? FileManager.default.removeItem(atPath: directory) }
        try result.get()
        printLine("\nEach side was stored once, byte for byte, and the kiosk has read each result.")
    }

    private func photos(_ cards: CardArtist.Cards) -> [Kiosk.Photo] {
        ["B-0001", "B-0002"].flatMap { business in
            [("front", cards.front), ("back", cards.back)].map {
                Kiosk.Photo(business: business, side: $0.0, path: $0.1)
            }
        }
    }
}

/// A failed check.
struct Mismatch: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    static func unless(_ isExpected: Bool, _ message: @autoclosure () -> String) throws {
        if !isExpected { throw Mismatch(message()) }
    }
}
