import FoundationEssentials
import HTTPTypes
import Testing
import WaybillTesting

@testable import Waybill

@Suite struct DecodingTests {
    private struct Receipt: Decodable {
        struct Item: Decodable { let id: Int }
        struct Body: Decodable { let items: [Item] }
        let data: Body
    }

    @Test(arguments: [
        (#"{"data": {"items": [{"id": 1}, {"id": "x"}]}}"#, "data.items.1.id"),
        (#"{"data": {"items": [{}]}}"#, "data.items.0.id"), (#"{"data": null}"#, "data"), ("[]", ""), ("<html>", ""),
        ("", ""),
    ])
    func `a decoding error has the coding path and the body`(body: String, path: String) async throws {
        let (session, _, _) = SessionWorld.intercepted([], [.responding(.ok, body: body)])
        let error = await #expect(throws: UploadError.self) {
            _ = try await session.upload(.data([1]), to: SessionWorld.url, as: Receipt.self)
        }
        #expect(error?.code == .decodingFailed)
        #expect(error?.codingPath == path)
        #expect(error?.response?.text == body)
        #expect(error?.outcome == .unknown)
        #expect(error?.attempts.count == 1)
        #expect(error?.cause is DecodingError)
    }

    @Test func `a custom decoder fails with the same error code`() throws {
        let response = UploadResponse(status: .ok, body: Array("a,b".utf8))
        #expect(try response.decode { $0.split(separator: 0x2C).count } == 2)
        let error = #expect(throws: UploadError.self) { try response.decode { _ -> Int in throw Refusal() } }
        #expect(error?.code == .decodingFailed && error?.cause is Refusal)
        #expect(error?.codingPath == nil)
        #expect(error?.response?.body == Array("a,b".utf8))
    }

    @Test func `a response is decoded with the settings of the given decoder`() async throws {
        struct Answer: Decodable, Equatable { let firstName: String }
        let (session, _, _) = SessionWorld.intercepted([], [.responding(.ok, body: #"{"first_name": "张三"}"#)])
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let request = UploadRequest(.post, SessionWorld.url)
        #expect(try await session.send(request, as: Answer.self, decoder: decoder) == Answer(firstName: "张三"))
    }
}
