import CardArtist
import CardRecognitionKit
import Foundation
import Waybill

/// Both services, two photographs in the wrong order, and what becomes of them.
@main
struct Command {
    static func main() async throws {
        var random = SystemRandomNumberGenerator()
        let sealingKey = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
        let (secret, token) = ("\(UInt64.random(in: 1 ... .max))", "\(UInt64.random(in: 1 ... .max))")
        let recogniser = try await Recogniser(apiKey: "demo", apiSecret: secret)
        let bank = try await Bank(token: token, sealingKey: sealingKey)

        let cards = try await CardArtist.cards(in: ".build/specimen-cards", width: 1_600)
        let folder = FileManager.default.temporaryDirectory.appending(path: "cards-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let flow = CardFlow(
            reader: CardFlow.Reader(url: recogniser.url, key: "demo", secret: .secret(secret)), bank: bank.url,
            token: .secret(token), sealingKey: sealingKey, folder: folder)

        // The customer put the card down with its back up.
        let number = try await flow.run(photographs: [cards.back, cards.front], business: "B-0042")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() { print("saved \(name)") }
        print("the bank was asked for: \(await bank.books.requests.joined(separator: ", "))")
        print("handed in as \(number)")

        do {
            _ = try await flow.run(photographs: [cards.front, cards.front], business: "B-0043")
        } catch let error as FlowError {
            print("two fronts: \(error), and the bank was not asked")
        }
        await flow.close()
        await recogniser.stop()
        await bank.stop()
    }
}
