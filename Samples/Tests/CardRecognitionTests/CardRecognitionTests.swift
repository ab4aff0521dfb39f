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
    func `both sides are recognized in any order, saved and submitted in sequence`(
        isTurned: Bool
    ) async throws {
        let fixture = try await Fixture(secret: secret, token: token, key: key)
        let flow = fixture.flow(secret: secret, token: token, key: key)
        let photos = [fixture.cards.front, fixture.cards.back]
        let number = try await flow.run(
            photos: isTurned ? photos.reversed() : photos, business: "B/../42")
        #expect(number == "S-1")
        let snapshot = await fixture.bank.snapshot
        #expect(snapshot.requests == ["front", "back", "submit"])
        #expect(snapshot.submissions == ["F-1", "B-2"])
        // The bank has the saved files, byte for byte.
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.archive).sorted()
        #expect(names == ["B----42-back.jpg", "B----42-front.jpg"])
        for (name, number) in zip(names, ["B-2", "F-1"]) {
            let path = "\(fixture.archive)/\(name)"
            let bytes = try Data(contentsOf: URL(filePath: path))
            #expect(bytes.count <= 100_000)
            #expect(snapshot.images[number] == SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined())
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        }
        await fixture.close(flow)
    }

    @Test func `a rejected secret fails without appearing in the error`() async throws {
        let fixture = try await Fixture(secret: "another one", token: token, key: key)
        let flow = fixture.flow(secret: secret, token: token, key: key)
        let error = await #expect(throws: UploadError.self) {
            _ = try await flow.run(photos: [fixture.cards.front, fixture.cards.back], business: "B-1")
        }
        #expect(error?.response?.status.code == 401 && error?.outcome == .rejected)
        #expect(!"\(error as Any) \(String(reflecting: error))".contains("s3cr3t"))
        #expect(await fixture.bank.snapshot.requests.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: fixture.archive))
        await fixture.close(flow)
    }

    @Test func `two photos of one side or a single photo are not submitted`() async throws {
        let fixture = try await Fixture(secret: secret, token: token, key: key)
        let flow = fixture.flow(secret: secret, token: token, key: key)
        let cards = fixture.cards
        await #expect(throws: FlowError.sameSideTwice(.front)) {
            _ = try await flow.run(photos: [cards.front, cards.front], business: "B-1")
        }
        await #expect(throws: FlowError.missing(.front)) {
            _ = try await flow.run(photos: [cards.back], business: "B-1")
        }
        #expect(await fixture.bank.snapshot.requests.isEmpty)
        await fixture.close(flow)
    }

    @Test func `a rejected front ends the chain before the back`() async throws {
        let fixture = try await Fixture(secret: secret, token: "another one", key: key)
        let flow = fixture.flow(secret: secret, token: token, key: key)
        let error = await #expect(throws: UploadError.self) {
            _ = try await flow.run(photos: [fixture.cards.front, fixture.cards.back], business: "B-1")
        }
        #expect(error?.code == .envelopeRejected && error?.envelope?.code == "100001")
        #expect(error?.message.contains("Step \"front\"") == true)
        #expect(await fixture.bank.snapshot.requests == ["front"])
        #expect(!"\(error as Any) \(String(reflecting: error))".contains("t0k3n"))
        await fixture.close(flow)
    }

    @Test func `a response that cannot be decrypted ends the chain with an unknown outcome`() async throws {
        let fixture = try await Fixture(secret: secret, token: token, key: key)
        let flow = fixture.flow(secret: secret, token: token, key: [UInt8](repeating: 6, count: 32))
        let error = await #expect(throws: UploadError.self) {
            _ = try await flow.run(photos: [fixture.cards.front, fixture.cards.back], business: "B-1")
        }
        #expect(error?.code == .interceptorFailed && error?.outcome == .unknown)
        #expect(await fixture.bank.snapshot.requests == ["front"])
        await fixture.close(flow)
    }
}

/// Both services, two photos, and a temporary directory.
private struct Fixture {
    let recognizer: Recognizer
    let bank: Bank
    let cards: CardArtist.Cards
    private let directory = FileManager.default.temporaryDirectory.appending(path: "cards-\(UUID().uuidString)").path

    var archive: String { "\(directory)/archive" }

    init(secret: String, token: String, key: [UInt8]) async throws {
        recognizer = try await Recognizer(apiKey: "demo", apiSecret: secret)
        bank = try await Bank(token: token, encryptionKey: key)
        cards = try await CardArtist.cards(in: directory, width: 640)
    }

    func flow(secret: String, token: String, key: [UInt8]) -> CardFlow {
        CardFlow(
            reader: CardFlow.Reader(url: recognizer.url, key: "demo", secret: .secret(secret)), bank: bank.url,
            token: .secret(token), encryptionKey: key, directory: archive)
    }

    func close(_ flow: CardFlow) async {
        await flow.close()
        await recognizer.stop()
        await bank.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }
}
