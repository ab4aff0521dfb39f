import CardArtist
import CardRecognitionKit
import Crypto
import Foundation
import Testing
import Waybill

@Suite(.timeLimit(.minutes(2))) struct CardRecognitionTests {
    private let secret = "s3cr3t-of-the-service"
    private let token = "t0k3n-of-the-bank"
    private let key = [UInt8](repeating: 5, count: 32)

    @Test(arguments: [false, true])
    func `both sides are recognised in any order, saved, and handed in one after the other`(
        isTurned: Bool
    ) async throws {
        let place = try await Place(secret: secret, token: token, key: key)
        let flow = place.flow(secret: secret, token: token, key: key)
        let photographs = [place.cards.front, place.cards.back]
        let number = try await flow.run(
            photographs: isTurned ? photographs.reversed() : photographs, business: "B/../42")
        #expect(number == "S-1")
        let books = await place.bank.books
        #expect(books.requests == ["front", "back", "submit"])
        #expect(books.submissions == ["F-1", "B-2"])
        // What was saved is what the bank has, side by side.
        let names = try FileManager.default.contentsOfDirectory(atPath: place.archive).sorted()
        #expect(names == ["B----42-back.jpg", "B----42-front.jpg"])
        for (name, number) in zip(names, ["B-2", "F-1"]) {
            let path = "\(place.archive)/\(name)"
            let bytes = try Data(contentsOf: URL(filePath: path))
            #expect(bytes.count <= 100_000)
            #expect(books.pictures[number] == SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined())
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        }
        await place.close(flow)
    }

    @Test func `a service that doesn't know the secret is an error that doesn't print it`() async throws {
        let place = try await Place(secret: "another one", token: token, key: key)
        let flow = place.flow(secret: secret, token: token, key: key)
        let error = await #expect(throws: UploadError.self) {
            _ = try await flow.run(photographs: [place.cards.front, place.cards.back], business: "B-1")
        }
        #expect(error?.response?.status.code == 401 && error?.outcome == .rejected)
        #expect(!"\(error as Any) \(String(reflecting: error))".contains("s3cr3t"))
        #expect(await place.bank.books.requests.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: place.archive))
        await place.close(flow)
    }

    @Test func `two pictures of one side, or one alone, are not handed in`() async throws {
        let place = try await Place(secret: secret, token: token, key: key)
        let flow = place.flow(secret: secret, token: token, key: key)
        let cards = place.cards
        await #expect(throws: FlowError.sameSideTwice(.front)) {
            _ = try await flow.run(photographs: [cards.front, cards.front], business: "B-1")
        }
        await #expect(throws: FlowError.missing(.front)) {
            _ = try await flow.run(photographs: [cards.back], business: "B-1")
        }
        #expect(await place.bank.books.requests.isEmpty)
        await place.close(flow)
    }

    @Test func `a bank that refuses the front is not asked for the back`() async throws {
        let place = try await Place(secret: secret, token: "another one", key: key)
        let flow = place.flow(secret: secret, token: token, key: key)
        let error = await #expect(throws: UploadError.self) {
            _ = try await flow.run(photographs: [place.cards.front, place.cards.back], business: "B-1")
        }
        #expect(error?.code == .envelopeRejected && error?.envelope?.code == "100001")
        #expect(error?.message.contains("step \"front\"") == true)
        #expect(await place.bank.books.requests == ["front"])
        #expect(!"\(error as Any) \(String(reflecting: error))".contains("t0k3n"))
        await place.close(flow)
    }

    @Test func `an answer that can't be opened ends the chain with an unknown end`() async throws {
        let place = try await Place(secret: secret, token: token, key: key)
        let flow = place.flow(secret: secret, token: token, key: [UInt8](repeating: 6, count: 32))
        let error = await #expect(throws: UploadError.self) {
            _ = try await flow.run(photographs: [place.cards.front, place.cards.back], business: "B-1")
        }
        #expect(error?.code == .interceptorFailed && error?.outcome == .unknown)
        #expect(await place.bank.books.requests == ["front"])
        await place.close(flow)
    }
}

/// Both services, two pictures, and a folder that is gone afterwards.
private struct Place {
    let recogniser: Recogniser
    let bank: Bank
    let cards: CardArtist.Cards
    private let folder = FileManager.default.temporaryDirectory.appending(path: "cards-\(UUID().uuidString)").path

    var archive: String { "\(folder)/archive" }

    init(secret: String, token: String, key: [UInt8]) async throws {
        recogniser = try await Recogniser(apiKey: "demo", apiSecret: secret)
        bank = try await Bank(token: token, sealingKey: key)
        cards = try await CardArtist.cards(in: folder, width: 640)
    }

    func flow(secret: String, token: String, key: [UInt8]) -> CardFlow {
        CardFlow(
            reader: CardFlow.Reader(url: recogniser.url, key: "demo", secret: .secret(secret)), bank: bank.url,
            token: .secret(token), sealingKey: key, folder: archive)
    }

    func close(_ flow: CardFlow) async {
        await flow.close()
        await recogniser.stop()
        await bank.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
