import EncryptedResponsesKit
import Waybill

@main
struct EncryptedResponses {
    static func main() async throws {
        var random = SystemRandomNumberGenerator()
        let signingKey = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
        let encryptionKey = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
        let backend = try await Backend(signingKey: signingKey, encryptionKey: encryptionKey)
        let session = makeSession(backend.url, signingKey: signingKey, encryptionKey: encryptionKey)

        let receipt = try await session.upload(
            [
                .text("BUSINESSNO", "20260117-0042"),
                .data("FILE", [UInt8](repeating: 7, count: 20_000), fileName: "a.bin"),
            ],
            to: "upload", as: Receipt.self)
        print("stored as number \(receipt.data.number) of \(receipt.data.business)")

        do throws(UploadError) {
            _ = try await session.upload([.text("DOCTYPE", "ID")], to: "upload")
        } catch {
            print("rejected with HTTP 200: \(error.envelope.map { "\($0)" } ?? "\(error)")")
        }
        await session.close()
        await backend.stop()
    }
}
