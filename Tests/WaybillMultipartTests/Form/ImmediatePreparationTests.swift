import Glibc
import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ImmediatePreparationTests {
    let directory: TemporaryDirectory
    let boundary: MultipartBoundary

    init() throws {
        directory = try TemporaryDirectory()
        boundary = try MultipartBoundary("at-once")
    }

    func bytes(_ body: MultipartBody) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in body.chunks { bytes += chunk }
        return bytes
    }

    /// Returns whether the kernel can open the path without blocking.
    func opensWithoutBlocking(_ path: String) throws -> Bool {
        try DiskAccess().openNow(SourceFile(inspecting: path, at: nil)) != nil
    }

    @Test func `a form prepared immediately has the same bytes as one that may wait`() async throws {
        let path = try directory.file("card.jpg", [UInt8](repeating: 7, count: 100_000))
        var form: MultipartForm = [
            .file("FILE", path: path, fileName: "a \"b\".jpg"), .text("TOKEN", .secret("s3cret")),
            .text("a\nb", "one\ntwo"), .data("d", [0, 1, 2], fileName: "身.bin").header("X-Of", "ours"),
            .file("SLICE", path: path, range: 10..<20),
        ]
        form.limits = FormLimits(maxParts: 5, maxPartBytes: .bytes(100_000), maxTotalBytes: .kibibytes(100))
        for order in [MultipartForm.PartOrder.asGiven, .filesLast] {
            form.order = order
            let atOnce = form.preparedSynchronously(boundary: boundary)
            #expect(try (atOnce != nil) == opensWithoutBlocking(path))
            guard let atOnce else { return }
            // In the second, every part is prepared by the path that may wait.
            for other in [form, try await form.resolved()] {
                let other = try await other.prepared(boundary: boundary)
                #expect(try await bytes(atOnce) == bytes(other))
                #expect(atOnce.contentLength == other.contentLength && atOnce.parts == other.parts)
            }
        }
    }

    @Test func `texts and data are always prepared immediately`() throws {
        #expect(MultipartForm([.text("a", "b"), .data("c", [1])]).preparedSynchronously() != nil)
        #expect(MultipartForm().preparedSynchronously()?.contentLength == 49)
        let copied = String(repeating: "a", count: 64 << 10)
        #expect(MultipartForm([.text("a", copied)]).preparedSynchronously() != nil)
        #expect(MultipartForm([.text("a", copied), .text("b", "x")]).preparedSynchronously() == nil)
        let retained = [UInt8](repeating: 0, count: 1 << 20)
        #expect(MultipartForm([.data("a", retained), .text("b", copied)]).preparedSynchronously() != nil)
        #expect(MultipartForm([.data("a", retained), .data("b", [1])]).preparedSynchronously() == nil)
        #expect(MultipartForm([.data("a", retained)]).preparedSynchronously(boundary: boundary) == nil)
        #expect(MultipartForm(Array(repeating: .text("a", "b"), count: 64)).preparedSynchronously() != nil)
        #expect(MultipartForm(Array(repeating: .text("a", "b"), count: 65)).preparedSynchronously() == nil)
    }

    @Test func `parts that block, run other code or are invalid are not prepared immediately`() throws {
        let path = try directory.file("a.jpg", [1, 2, 3])
        let empty = try directory.file("empty", [])
        let fifo = directory.path + "/fifo"
        #expect(unsafe mkfifo(fifo, 0o600) == 0)
        let parts: [MultipartPart] = [
            .json("j", [1]), .text("a", "b").followingContent(), .text("", "no name"), .text("a", "--at-once"),
            .file("f", path: directory.path), .file("f", path: directory.path + "/none"), .file("f", path: empty),
            .file("f", path: fifo), .file("f", path: path + "\0"), .file("f", path: path, range: 0..<4),
            .text("a", "b").header("Content-Length", "1"), .data("a", [1], fileName: "\0"),
        ]
        for part in parts {
            #expect(MultipartForm([.text("t", "v"), part]).preparedSynchronously(boundary: boundary) == nil, "\(part)")
        }
        var form: MultipartForm = [.file("f", path: path)]
        form.limits = FormLimits(maxPartBytes: .bytes(2))
        #expect(form.preparedSynchronously() == nil)
        form.limits = FormLimits(allowedTypes: ["image/jpeg"])
        #expect(form.preparedSynchronously() == nil)
    }

    @Test func `a file changed after preparation is detected before the closing boundary`() async throws {
        let path = try directory.file("a.jpg", [1, 2, 3])
        let body = MultipartForm([.file("f", path: path)]).preparedSynchronously()
        #expect(try (body != nil) == opensWithoutBlocking(path))
        guard let body else { return }
        _ = try directory.file("a.jpg", [1, 2, 3, 4])
        let error = await #expect(throws: BodyError.self) { try await bytes(body) }
        #expect(error?.code == .sourceChanged)
    }

    @Test func `a file body is prepared without waiting`() throws {
        let path = try directory.file("a.jpg", [1, 2, 3])
        let body = FileBody(inspectingSynchronously: path)
        #expect(try (body != nil) == opensWithoutBlocking(path))
        #expect(body == nil || body?.length == 3 && body?.contentType == "image/jpeg")
        #expect(FileBody(inspectingSynchronously: directory.path) == nil)
        #expect(FileBody(inspectingSynchronously: path, contentType: "a\nb") == nil)
    }

    @Test func `an unreadable file is not prepared immediately`() throws {
        // Root can read everything.
        guard geteuid() != 0 else { return }
        let path = try directory.file("a.jpg", [1, 2, 3])
        #expect(unsafe chmod(path, 0) == 0)
        #expect(SourceFile(inspectingSynchronously: path, at: nil) == nil)
    }
}
