import AsyncHTTPClient
import Foundation
import ReceiverKit
import Testing
import WaybillMultipart

@testable import OtherClient

@Suite(.timeLimit(.minutes(1)))
struct OtherClientTests {
    @Test func `AsyncHTTPClient sends a form unchanged`() async throws {
        let receiver = try await Receiver.start(.init(token: "right"))
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("other-client-\(UUID()).bin").path
        let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try content.write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let form: MultipartForm = [
            .text("TOKEN", .secret("right")), .text("USERNO", "42"), .file("FILE", path: path, fileName: "身份证.bin"),
        ]
        let response = try await post(form, to: receiver.url, by: .shared)
        #expect(response.status == 200)
        #expect(response.text.contains("000000"), "\(response.text)")
        #expect(response.text.contains("\"bytes\":3000000"), "\(response.text)")
        #expect(response.text.contains("\"name\":\"USERNO\""), "\(response.text)")
        let names = try FileManager.default.contentsOfDirectory(atPath: receiver.directory)
        let stored = try names.map { try Data(contentsOf: URL(fileURLWithPath: receiver.directory + "/" + $0)) }
        #expect(stored == [content])
        await receiver.stop()
    }
}
