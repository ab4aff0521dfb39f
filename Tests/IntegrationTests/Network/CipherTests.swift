import FoundationEssentials
import TestSupport
import Testing
import Waybill

/// A real cipher and real hashes from the `openssl` command, for servers that encrypt their responses and require
/// signed parameters.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct CipherTests {
    private static let key = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
    private static let vector = "0102030405060708090a0b0c0d0e0f10"

    private struct OpenSSLFailure: Error { let text: String }

    private static func openssl(_ arguments: [String], _ input: [UInt8]) async throws -> [UInt8] {
        let run = try await ChildProcess.run("openssl", arguments, input: input)
        guard run.exit == .status(0) else { throw OpenSSLFailure(text: run.errorText) }
        return run.output
    }

    private static func cipher(_ direction: String, _ bytes: [UInt8]) async throws -> [UInt8] {
        try await openssl(["enc", "-aes-256-cbc", direction, "-K", key, "-iv", vector], bytes)
    }

    private struct Receipt: Decodable {
        struct Data: Decodable { let name: String }
        let data: Data
    }

    private func session() -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.options.retry = .none
        configuration.interceptors = [JSONEnvelope(), .transforming("decrypt") { try await Self.cipher("-d", $0) }]
        return UploadSession(configuration: configuration)
    }

    @Test func `an encrypted response is decrypted before it is validated and decoded`() async throws {
        let yes = try await Self.cipher("-e", Array(#"{"code": 0, "data": {"name": "张三"}}"#.utf8))
        let no = try await Self.cipher("-e", Array(#"{"code": 17, "message": "余额不足"}"#.utf8))
        let server = try LoopbackServer(
            .respond(ScriptedResponse(200, body: yes)), .respond(ScriptedResponse(200, body: no)))
        let receipt = try await session().upload([.text("a", "b")], to: server.url(), as: Receipt.self)
        #expect(receipt.data.name == "张三")
        let error = await #expect(throws: UploadError.self) {
            _ = try await session().upload([.text("a", "b")], to: server.url(), as: Receipt.self)
        }
        #expect(error?.envelope == EnvelopeRejection(code: "17", message: "余额不足"))
    }

    @Test func `a response that cannot be decrypted keeps its bytes`() async throws {
        let sealed = try await Self.cipher("-e", Array(#"{"code": 0}"#.utf8))
        let cut = Array(sealed.dropLast())
        let server = try LoopbackServer(.respond(ScriptedResponse(200, body: cut)))
        let error = await #expect(throws: UploadError.self) {
            _ = try await session().upload([.text("a", "b")], to: server.url())
        }
        #expect(error?.code == .interceptorFailed && error?.outcome == .unknown)
        #expect(error?.cause is OpenSSLFailure)
        #expect(error?.response?.body == cut)
    }

    @Test(arguments: ["md5", "sha1", "sha256"])
    func `a signature matches that of openssl for the same text`(hash: String) async throws {
        let parameters = [("timestamp", "1732200000"), ("appId", "7"), ("name", "张 三"), ("empty", "")]
        let canonical = Array("appId=7&name=张 三&timestamp=1732200000&key=s3cr3t".utf8)
        let digest = try await Self.openssl(["dgst", "-\(hash)", "-binary"], canonical)
        let text = try await Self.openssl(["dgst", "-\(hash)", "-r"], canonical)
        // The hash is computed in advance: Waybill has none, and the closure is synchronous.
        var signer = ParameterSigner { $0 == canonical ? digest : [] }
        signer.suffix = .secret("&key=s3cr3t")
        #expect(signer.signature(of: parameters) == String(decoding: text.prefix { $0 != 0x20 }, as: UTF8.self))
        signer.suffix = nil
        let mac = try await Self.openssl(
            ["dgst", "-\(hash)", "-mac", "HMAC", "-macopt", "key:s3cr3t", "-binary"],
            signer.canonicalText(of: parameters))
        var keyed = ParameterSigner { _ in mac }
        keyed.output = .base64
        #expect(keyed.signature(of: parameters) == Data(mac).base64EncodedString())
    }
}
