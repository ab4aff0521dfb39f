import Waybill

/// Posts a small form to a listener in this process and reads it with the parser: engine, form and parser in one go.
enum SelfTest {
    static func run() async -> Check {
        let name = "self-test"
        do {
            let listener = try SelfTestListener()
            async let received = listener.receiveOne()
            let sent = Self.parts
            var options = UploadOptions()
            options.retry = .none
            options.transfer.limits.total = .seconds(10)
            let response = try await UploadSession().upload(
                MultipartForm(sent.map(\.part)), to: "http://127.0.0.1:\(listener.port)/self-test", options: options)
            let form = try await received
            guard form.parts == sent.map(\.expected) else {
                return Check(name, false, "the form arrived, but not as it was sent")
            }
            let bytes = form.parts.reduce(0) { $0 + $1.bytes.count }
            return Check(
                name, true,
                "a form of \(form.parts.count) parts and \(bytes) bytes was posted to 127.0.0.1 and read back, "
                    + "in \(SummaryText.seconds(response.metrics.total))")
        } catch {
            return Check(name, false, "\(error)")
        }
    }

    private struct Sample {
        var part: MultipartPart
        var expected: ReceivedForm.Part
    }

    /// Names and bytes that break forms which are put together carelessly.
    private static var parts: [Sample] {
        let bytes = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 31) } + Array("\r\n--\r\n".utf8)
        return [
            Sample(
                part: .text("text", "Grüße, 你好"),
                expected: ReceivedForm.Part(name: "text", fileName: nil, bytes: Array("Grüße, 你好".utf8))),
            Sample(
                part: .data("file \"1\"", bytes, fileName: "a;\"b\".bin"),
                expected: ReceivedForm.Part(name: "file \"1\"", fileName: "a;\"b\".bin", bytes: bytes)),
            Sample(part: .text("empty", ""), expected: ReceivedForm.Part(name: "empty", fileName: nil, bytes: [])),
        ]
    }
}

/// What the listener's parser made of the form.
struct ReceivedForm: MultipartHandler, Sendable {
    struct Part: Sendable, Hashable {
        var name: String
        var fileName: String?
        var bytes: [UInt8]
    }

    private(set) var parts: [Part] = []

    mutating func partBegan(_ head: MultipartPartHead) {
        parts.append(Part(name: head.name, fileName: head.fileName, bytes: []))
    }

    mutating func partData(_ bytes: Span<UInt8>) {
        for index in bytes.indices { parts[parts.count - 1].bytes.append(bytes[index]) }
    }

    mutating func partEnded() {}
}
