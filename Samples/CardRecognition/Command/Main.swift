import CardArtist
import CardRecognitionKit
import Foundation
import Waybill

/// Runs both services and the client with two photos in the wrong order, then with two photos of one side.
@main
struct Command {
    static func main() async throws {
        var random = SystemRandomNumberGenerator()
        let encryptionKey = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
        let (secret, token) = ("\(UInt64.random(in: 1 ... .max))", "\(UInt64.random(in: 1 ... .max))")
        let recognizer = try await Recognizer(apiKey: "demo", apiSecret: secret)
        let bank = try await Bank(token: token, encryptionKey: encryptionKey)

        let cards = try await CardArtist.cards(in: ".build/specimen-cards", width: 1_600)
        let directory = FileManager.default.temporaryDirectory.appending(path: "cards-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let flow = CardFlow(
            reader: CardFlow.Reader(url: recognizer.url, key: "demo", secret: .secret(secret)), bank: bank.url,
            token: .secret(token), encryptionKey: encryptionKey, directory: directory)

        // The back was photographed first.
        let number = try await flow.run(photos: [cards.back, cards.front], business: "B-0042")
        for name in try FileManager.default.contentsOfDirectory(atPath: directory).sorted() { print("saved \(name)") }
        print("requests to the bank: \(await bank.snapshot.requests.joined(separator: ", "))")
        print("submitted as \(number)")

        do {
            _ = try await flow.run(photos: [cards.front, cards.front], business: "B-0043")
        } catch let error as FlowError {
            print("two fronts: \(error) No request was sent to the bank.")
        }
        await flow.close()
        await recognizer.stop()
        await bank.stop()
    }
}
