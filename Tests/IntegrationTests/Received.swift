import TestSupport
import Testing
import WaybillMultipart

/// A part as parsed by the server.
struct Received: Equatable {
    var name: String
    var fileName: String?
    var contentType: String?
    var bytes: [UInt8] = []

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Returns the parts of a request, parsed by `MultipartParser`.
    static func parts(of request: RecordedRequest) throws -> [Received] {
        var parser = try MultipartParser(contentType: request.value(of: "Content-Type") ?? "")
        var collector = Collector()
        try parser.feed(request.body.span, to: &collector)
        try parser.finish()
        return collector.parts
    }

    /// Returns the body as text with each boundary replaced by a placeholder.
    static func normalizingBoundary(_ request: RecordedRequest) throws -> String {
        let type = try #require(request.value(of: "Content-Type"))
        let boundary = try #require(type.split(separator: "boundary=").last)
        return String(decoding: request.body, as: UTF8.self).split(
            separator: boundary, omittingEmptySubsequences: false
        ).joined(separator: "BOUNDARY")
    }

    private struct Collector: MultipartHandler {
        var parts: [Received] = []

        mutating func partBegan(_ head: MultipartPartHead) {
            parts.append(Received(name: head.name, fileName: head.fileName, contentType: head.contentType))
        }

        mutating func partData(_ bytes: Span<UInt8>) {
            for index in bytes.indices { parts[parts.count - 1].bytes.append(bytes[index]) }
        }

        mutating func partEnded() {}
    }
}
