import TestSupport
import Testing
import Waybill
import WaybillStores

/// Responses of an intermediary between the client and the store.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct OSSIntermediaryTests {
    private let folder = Result { try TemporaryDirectory() }

    private func client(_ server: LoopbackServer) throws -> AliyunOSSClient {
        var configuration = AliyunOSSClient.Configuration(
            endpoint: try OSSEndpoint(server.url("")), bucket: "examplebucket")
        configuration.region = "cn-hangzhou"
        configuration.allowsUnencrypted = true
        configuration.records = nil
        configuration.retry = .none
        return try AliyunOSSClient(
            configuration: configuration,
            credentials: .fixed(StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk"))))
    }

    @Test(arguments: [[], [("x-oss-request-id", "5C3D")]])
    func `a 203 of a proxy does not count as stored`(_ fields: [(String, String)]) async throws {
        let server = try LoopbackServer(otherwise: .respond(203, headers: fields, body: "<html>"))
        let error = try await #require(throws: StoreError.self) {
            try await client(server).put(.data([1, 2, 3]), to: "k")
        }
        #expect(error.code == .unexpectedResponse, "\(error)")
        #expect(!error.isStored && error.outcome == .unknown)
    }

    @Test func `a form with policy and token does not follow redirects`() async throws {
        let other = try LoopbackServer(otherwise: .respond(200))
        let server = try LoopbackServer(otherwise: .respond(307, headers: [("Location", other.url("/steal"))]))
        let error = try await #require(throws: StoreError.self) {
            try await client(server).post(.data("file", [1, 2, 3]), to: "k")
        }
        #expect(!error.isStored, "\(error)")
        #expect(other.requests.isEmpty)
    }
}
