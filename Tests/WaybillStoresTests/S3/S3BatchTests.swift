import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(Slowness.factor))) struct `S3 batches and recipes` {
    @Test func `files and bytes of a batch are stored with bounded concurrency, large files in parts`() async throws {
        let fixture = try S3Fixture { configuration, _ in
            configuration.singleRequestLimit = .bytes(1_000)
            configuration.profile.minimumPartSize = .bytes(1_000)
            configuration.partSize = .kibibytes(100)
        }
        let large = try fixture.directory.writeSparse("large.bin", size: 250_000)
        let small = try fixture.directory.write("small.txt", "small")
        let items: [(String, UploadContent)] = [
            ("large", .file(path: large)), ("small", .file(path: small, contentType: "text/x-own")),
            ("bytes", .data([1, 2, 3])), ("missing", .file(path: "/nonexistent")),
        ]
        let ended = Locked<[Int]>([])
        let batch = fixture.client.startBatch(of: items, maximumConcurrentRequests: 2) { item in
            S3BatchWork(item.1, to: "in/\(item.0)")
        } onEnd: { result in
            ended.withLock { $0.append(result.index) }
        }
        let summary = await batch.summary
        #expect(summary.succeeded == 3 && summary.failed == 1)
        #expect(ended.withLock { $0.sorted() } == [0, 1, 2, 3])
        #expect(fixture.store.object("in/large")?.content.size == 250_000)
        #expect(fixture.count(.uploadPart) == 3)
        #expect(fixture.store.object("in/small")?.fields["content-type"] == "text/x-own")
        #expect(fixture.store.object("in/bytes")?.content.bytes == [1, 2, 3])
        #expect(fixture.store.state.peakInFlight <= 2)
    }

    @Test func `a recipe renders the key, and its metadata yields to that of the call`() async throws {
        let fixture = try S3Fixture()
        let path = try fixture.directory.write("report.pdf", "contents")
        var recipe = UploadRecipe("document", key: "docs/{branch}/{sha256:8}{.ext}")
        recipe.metadata = ["kind": "document", "clerk": "0"]
        var options = S3ObjectOptions()
        options.metadata["clerk"] = "7"
        let stored = try await fixture.client.upload(
            recipe, file: path, parameters: ["branch": "42"], options: options)
        #expect(stored.key.hasPrefix("docs/42/") && stored.key.hasSuffix(".pdf"))
        let object = try #require(fixture.store.object(stored.key))
        #expect(object.fields["x-amz-meta-clerk"] == "7" && object.fields["x-amz-meta-kind"] == "document")
        let prepared = try await recipe.prepare([1, 2], parameters: ["branch": "42"], fileName: "a.png")
        let second = try await fixture.client.startUpload(prepared).value
        #expect(fixture.store.object(second.key)?.fields["content-type"] == "image/png")
    }
}
