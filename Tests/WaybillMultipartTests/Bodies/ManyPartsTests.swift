import TestSupport
import Testing

@testable import WaybillMultipart

/// Ten times the parts are ten times the work. What it costs in instructions is measured by `make bench`; here the steps
/// are counted, which are the same on every machine.
@Suite struct ManyPartsTests {
    struct Steps {
        var segments = 0
        var bytes: Int64 = 0
        var reads = 0
    }

    @Test func `a form of ten times the parts takes ten times the steps`() async throws {
        let thousand = try await steps(for: 1_000)
        let tenThousand = try await steps(for: 10_000)
        // The closing line is there once.
        #expect(tenThousand.segments <= 10 * thousand.segments)
        #expect(tenThousand.bytes <= 10 * thousand.bytes)
        // Reads are as many as the bytes ask for, however many parts they come from.
        #expect(tenThousand.reads <= 10 * thousand.reads)
        #expect(Int64(tenThousand.reads) == (tenThousand.bytes + 4_095) / 4_096)
    }

    private func steps(for count: Int) async throws -> Steps {
        // Numbers of one width, so that a part has as many bytes in either form.
        let form = MultipartForm(
            (0..<count).map { index in
                let number = String(100_000 + index)
                return index.isMultiple(of: 2)
                    ? .text("field\(number)", number) : .data("file\(number)", [1, 2, 3], fileName: "\(number).jpg")
            })
        let body = try await form.prepared(boundary: MultipartBoundary("golden"))
        var steps = Steps(segments: body.segments.segments.count, bytes: try #require(body.length))
        let pull = try BodyPull(body)
        while try await pull.next(room: 4_096) != nil { steps.reads += 1 }
        return steps
    }
}
