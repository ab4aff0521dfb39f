import LittleBackend
import Testing
import Waybill

/// The backend keeps the rules by which "once" is possible. A judge that forgets one would find everybody innocent.
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

    @Test func `the same key gets the same answer and has no second effect`() async throws {
        let backend = try await LittleBackend(token: "t")
        let first = try await post(form, backend, key: "\"a\"")
        let second = try await post(form, backend, key: "\"a\"")
        let other = try await post(form, backend, key: "\"b\"")
        #expect(first.text == second.text && first.text != other.text)
        let books = await backend.books
        #expect(books.effects.map(\.number) == [1, 2])
        #expect(books.replays == 1 && books.requests == 3 && books.whole == 3)
        await backend.stop()
    }

    @Test func `the same key with another body is refused`() async throws {
        let backend = try await LittleBackend(token: "t")
        _ = try await post(form, backend, key: "\"a\"")
        let other = try await post([.text("TOKEN", "t"), .text("BUSINESSNO", "2")], backend, key: "\"a\"")
        #expect(other.status.code == 422)
        #expect(await backend.books.effects.count == 1)
        await backend.stop()
    }

    @Test func `a form without the right token or without a key has no effect`() async throws {
        let backend = try await LittleBackend(token: "another")
        #expect(try await post(form, backend, key: "\"a\"").text.contains("100001"))
        #expect(try await post(form, backend, key: "\"\"").status.code == 400)
        #expect(await backend.books.effects.isEmpty)
        await backend.stop()
    }
}
