import LittleBackend
import Testing
import Waybill

/// Tests of the test backend: the other tests rely on its handling of idempotency keys.
@Suite(.timeLimit(.minutes(1))) struct LittleBackendTests {
    private let form: MultipartForm = [.text("TOKEN", "t"), .text("BUSINESSNO", "1")]

    private func post(_ form: MultipartForm, _ backend: LittleBackend, key: String) async throws -> UploadResponse {
        var options = UploadOptions()
        options.accepts = .any
        let body = try await form.prepared(boundary: try MultipartBoundary("boundary-of-this-test"))
        return try await UploadSession.shared.upload(
            .body(body), to: backend.url, method: .post,
            headers: [try #require(HTTPField.Name("Idempotency-Key")): key], options: options)
    }

    @Test func `the same key and body get the same response without a second effect`() async throws {
        let backend = try await LittleBackend(token: "t")
        let first = try await post(form, backend, key: "\"a\"")
        let second = try await post(form, backend, key: "\"a\"")
        let other = try await post(form, backend, key: "\"b\"")
        #expect(first.text == second.text && first.text != other.text)
        let snapshot = await backend.snapshot
        #expect(snapshot.effects.map(\.number) == [1, 2])
        #expect(snapshot.replays == 1 && snapshot.requests == 3 && snapshot.complete == 3)
        await backend.stop()
    }

    @Test func `a key with a different body is rejected`() async throws {
        let backend = try await LittleBackend(token: "t")
        _ = try await post(form, backend, key: "\"a\"")
        let other = try await post([.text("TOKEN", "t"), .text("BUSINESSNO", "2")], backend, key: "\"a\"")
        #expect(other.status.code == 422)
        #expect(await backend.snapshot.effects.count == 1)
        await backend.stop()
    }

    @Test func `a form without the right token or without a key has no effect`() async throws {
        let backend = try await LittleBackend(token: "another")
        #expect(try await post(form, backend, key: "\"a\"").text.contains("100001"))
        #expect(try await post(form, backend, key: "\"\"").status.code == 400)
        #expect(await backend.snapshot.effects.isEmpty)
        await backend.stop()
    }
}
