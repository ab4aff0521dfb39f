import TestSupport
import Testing

@testable import WaybillMultipart

/// The work must grow linearly with the number of parts. `make bench` measures instructions; here steps are counted,
/// which are the same on every machine.
@Suite struct ManyPartsTests {
    struct Steps {
        var segments = 0
        var bytes: Int64 = 0
        var reads = 0
    }

    @Test func `the work grows linearly with the number of parts`() async throws {
        let thousand = try await steps(for: 1_000)
        let tenThousand = try await steps(for: 10_000)
        // The closing line occurs once.
        #expect(tenThousand.segments <= 10 * thousand.segments)
        #expect(tenThousand.bytes <= 10 * thousand.bytes)
        // The number of reads depends on the bytes, not on the number of parts.
        #expect(tenThousand.reads <= 10 * thousand.reads)
        #expect(Int64(tenThousand.reads) == (tenThousand.bytes + 4_095) / 4_096)
    }

    private func steps(for count: Int) async throws -> Steps {
        // Numbers of constant width, so that a part has the same length in both forms.
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
