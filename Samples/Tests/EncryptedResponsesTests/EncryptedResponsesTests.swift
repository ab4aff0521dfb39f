import Crypto
import EncryptedResponsesKit
import Testing
import Waybill

@Suite(.timeLimit(.minutes(1))) struct EncryptedResponsesTests {
    private let signingKey = [UInt8](repeating: 1, count: 32)
    private let encryptionKey = [UInt8](repeating: 2, count: 32)
    private let otherKey = [UInt8](repeating: 3, count: 32)

    private func upload(
        _ form: MultipartForm, signed: [UInt8]? = nil, decryptionKey: [UInt8]? = nil
    ) async throws -> Result<Receipt, UploadError> {
        let backend = try await Backend(signingKey: signingKey, encryptionKey: encryptionKey)
        let session = makeSession(
            backend.url, signingKey: signed ?? signingKey, encryptionKey: decryptionKey ?? encryptionKey)
        let result: Result<Receipt, UploadError>
        do throws(UploadError) {
            result = .success(try await session.upload(form, to: "upload", as: Receipt.self))
        } catch {
            result = .failure(error)
        }
        await backend.stop()
        return result
    }

    private func error(_ result: Result<Receipt, UploadError>) -> UploadError? {
        if case .failure(let error) = result { error } else { nil }
    }

    @Test func `a signed form is accepted and its encrypted response is decoded`() async throws {
        let receipt = try await upload([.text("BUSINESSNO", "42"), .text("Note", "two\nlines"), .text("empty", "")])
            .get()
        #expect(receipt.data.business == "42" && receipt.data.number == 7)
    }

    @Test func `a wrong signature is rejected in the envelope`() async throws {
        let refused = error(try await upload([.text("BUSINESSNO", "42")], signed: otherKey))
        #expect(refused?.code == .envelopeRejected)
        #expect(refused?.envelope == EnvelopeRejection(code: "1001", message: "验签失败"))
    }

    @Test func `a response that cannot be decrypted keeps its bytes and has an unknown outcome`() async throws {
        let encrypted = error(try await upload([.text("BUSINESSNO", "42")], decryptionKey: otherKey))
        #expect(encrypted?.code == .interceptorFailed)
        #expect(encrypted?.message.contains("\"decrypt the response\"") == true)
        #expect(encrypted?.outcome == .unknown)
        #expect((encrypted?.response?.body.count ?? 0) > 28)
        #expect(encrypted?.cause is CryptoKitError)
    }
}
