import AsyncHTTPClient
import Foundation
import ReceiverKit
import Testing
import WaybillMultipart

@testable import OtherClient

@Suite(.timeLimit(.minutes(1)))
struct OtherClientTests {
    @Test func `a form arrives through AsyncHTTPClient as it was made`() async throws {
        let receiver = try await Receiver.start(.init(token: "right"))
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("other-client-\(UUID()).bin").path
        let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try content.write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let form: MultipartForm = [
            .text("TOKEN", .secret("right")), .text("USERNO", "42"), .file("FILE", path: path, fileName: "身份证.bin"),
        ]
        let answer = try await post(form, to: receiver.url, by: .shared)
        #expect(answer.status == 200)
        #expect(answer.text.contains("000000"), "\(answer.text)")
        #expect(answer.text.contains("\"bytes\":3000000"), "\(answer.text)")
        #expect(answer.text.contains("\"name\":\"USERNO\""), "\(answer.text)")
        let names = try FileManager.default.contentsOfDirectory(atPath: receiver.directory)
        let stored = try names.map { try Data(contentsOf: URL(fileURLWithPath: receiver.directory + "/" + $0)) }
        #expect(stored == [content])
        await receiver.stop()
    }
}
