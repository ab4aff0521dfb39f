import TestSupport
import Glibc
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct CollectTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func parts(_ fileNames: [String], _ content: [UInt8] = [1, 2, 3]) throws -> IncomingForm {
        let body = fileNames.flatMap { IncomingFormTests.part("f", content, fileName: $0) } + IncomingFormTests.end
        return try IncomingForm(Pieces(body, of: 1_000), contentType: IncomingFormTests.type)
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        unsafe lstat(path, &status)
        return status.st_mode & 0o7777
    }

    @Test(arguments: [false, true])
    func `a collected file is complete and private under a generated name`(isNamed: Bool) async throws {
        var folder = try await UploadDirectory(path: directory.path)
        folder.namesUnfinishedFiles = isNamed
        let content = pattern(100_000)
        let form = try parts(["../../etc/passwd", "x"], content)
        for try await part in form {
            let file = try await part.collect(to: folder)
            #expect(try file.name.hasPrefix(".incoming-") && contents(of: file.path) == content)
        }
        let files = try await form.keepFiles()
        #expect(files.map(\.part) == ["f", "f"])
        #expect(Set(try directory.list()) == Set(files.map(\.name)) && files.count == 2)
        for file in files {
            #expect(file.name.utf8.count == 32 && file.name.allSatisfy(\.isHexDigit))
            #expect(try contents(of: file.path) == content && mode(file.path) == 0o600 && file.size == .bytes(100_000))
        }
    }

    @Test func `suggested names are sanitized, and no file is replaced`() async throws {
        let folder = try await UploadDirectory(path: directory.path)
        _ = try directory.file("card.jpg", [9])
        _ = unsafe symlink("/etc/passwd", directory.path + "/link.jpg")
        let form = try parts(["card.jpg", "../card.jpg", "C:\\x\\card.jpg", "link.jpg", "..", "身份证正面.jpg"])
        for try await part in form { _ = try await part.collect(to: folder, naming: .suggested) }
        let names = try await form.keepFiles().map(\.name)
        #expect(names[..<4] == ["card-2.jpg", "card-3.jpg", "card-4.jpg", "link-2.jpg"])
        #expect(names[4].utf8.count == 32 && names[5] == "身份证正面.jpg")
        #expect(try contents(of: directory.path + "/card.jpg") == [9])
    }

    @Test(
        arguments: [
            ("a.jpg", "a.jpg"), ("/etc/passwd", "passwd"), ("a\\b.jpg", "b.jpg"), ("...", nil), ("", nil), ("/", nil),
            (".bashrc", "bashrc"), ("a\u{202E}gpj.exe", "agpj.exe"), ("a\0b\r\n\u{1B}[31m", "ab[31m"), ("-rf", "rf"),
            ("a<b>:c|d?.jpg", "a_b__c_d_.jpg"), (" a . ", "a"), ("$(x)`y`", "_(x)_y_"),
            ("e\u{301}.jpg", "e\u{301}.jpg"),
        ] as [(String, String?)])
    func `an untrusted file name is sanitized`(given: String, safe: String?) {
        let found = MultipartPartHead(name: "f", fileName: given).safeFileName
        #expect(found.map { Array($0.utf8) } == safe.map { Array($0.utf8) })
        #expect(MultipartPartHead(name: "f").safeFileName == nil)
    }

    @Test func `a name that is too long keeps its extension`() {
        let name = MultipartPartHead(name: "f", fileName: String(repeating: "身", count: 300) + ".jpeg").safeFileName
        #expect(name?.hasSuffix("身.jpeg") == true && (170...180).contains(name?.utf8.count ?? 0))
        #expect(SafeFileName.numbered("card.jpg", 2) == "card-2.jpg" && SafeFileName.numbered("card", 3) == "card-3")
    }

    @Test(arguments: [false, true])
    func `a failed or cancelled collection leaves no file`(isNamed: Bool) async throws {
        var folder = try await UploadDirectory(path: directory.path)
        folder.namesUnfinishedFiles = isNamed
        let whole = IncomingFormTests.part("f", pattern(100_000), fileName: "x") + IncomingFormTests.end
        // The sender aborts.
        for try await part in try IncomingForm(
            Pieces(whole.prefix(60_000), of: 1_000), contentType: IncomingFormTests.type)
        {
            await #expect(throws: BodyError.self) { _ = try await part.collect(to: folder) }
            break
        }
        #expect(try directory.list() == [])
        // The task is cancelled in the middle: the received data is written, and more is awaited.
        let (waiting, isWaiting) = AsyncStream<Void>.makeStream()
        let body = StalledBody(pieces: [Array(whole.prefix(60_000))], isWaiting: isWaiting)
        let form = try IncomingForm(body, contentType: IncomingFormTests.type)
        let task = Task { [folder] in
            for try await part in form { _ = try await part.collect(to: folder) }
        }
        _ = await waiting.first { true }
        #expect(try directory.list().count == (isNamed ? 1 : 0))
        task.cancel()
        await #expect(throws: BodyError.self) { try await task.value }
        #expect(try directory.list() == [])
    }

    /// A body of some pieces that then waits until it is cancelled.
    private struct StalledBody: AsyncSequence, Sendable {
        var pieces: [[UInt8]]
        let isWaiting: AsyncStream<Void>.Continuation

        func makeAsyncIterator() -> Iterator { Iterator(pieces: pieces[...], isWaiting: isWaiting) }

        struct Iterator: AsyncIteratorProtocol {
            var pieces: ArraySlice<[UInt8]>
            let isWaiting: AsyncStream<Void>.Continuation

            mutating func next() async throws -> [UInt8]? {
                if let piece = pieces.popFirst() { return piece }
                isWaiting.yield()
                try await Task.sleep(for: .seconds(3_600))
                return nil
            }
        }
    }

    @Test func `a full disk is reported and leaves no file`() async throws {
        let folder = try await UploadDirectory(path: directory.path)
        let full = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
        let file = IncomingFile(FileDescriptor(owning: full), in: folder)
        let error = #expect(throws: BodyError.self) { try file.append([1, 2, 3]) }
        #expect(error?.code == .diskFull && error?.path == directory.path)
        #expect(try directory.list() == [])
    }

    @Test func `a file with its final name has no other name, even while in use`() async throws {
        var folder = try await UploadDirectory(path: directory.path)
        folder.namesUnfinishedFiles = true
        let (complete, broken) = (try IncomingFile(in: folder), try IncomingFile(in: folder))
        #expect(try directory.list().count == 2)
        let name = try complete.commit(under: ".incoming-\(UploadDirectory.randomName())")
        broken.discard()
        #expect(try directory.list() == [name])
        withExtendedLifetime((complete, broken)) {}
        folder.remove(name)
    }

    /// A part that violates a rule after a collected file, and the error.
    private static let laterFaults: [(String, [UInt8], String)] = [
        (
            "a field that is too long", IncomingFormTests.part("x", pattern(1 << 20 | 1)) + IncomingFormTests.end,
            "fieldTooLarge"
        ),
        (
            "a file that is too long",
            IncomingFormTests.part("x", pattern(5_000), fileName: "y") + IncomingFormTests.end, "fileTooLarge"
        ),
        ("a name that is missing", Array("--B\r\nX: y\r\n\r\n".utf8) + IncomingFormTests.end, "missingName"),
        ("an end that is missing", [], "truncatedBody"),
    ]

    @Test(arguments: [false, true], laterFaults)
    func `a form that fails later leaves no file`(isNamed: Bool, fault: (String, [UInt8], String)) async throws {
        var folder = try await UploadDirectory(path: directory.path)
        folder.namesUnfinishedFiles = isNamed
        var limits = MultipartLimits()
        limits.allFileBytes = .bytes(4_000)
        let body = IncomingFormTests.part("f", pattern(3_000), fileName: "x") + fault.1
        let error = await #expect(throws: BodyError.self) {
            for try await part in try IncomingForm(
                Pieces(body, of: 1_000), contentType: IncomingFormTests.type, limits: limits)
            {
                if part.fileName == nil {
                    _ = try await part.bytes(atMost: .bytes(.max))
                } else {
                    _ = try await part.collect(to: folder)
                }
            }
        }
        #expect(error?.code.description == fault.2)
        #expect(try directory.list() == [])
    }

    @Test func `a file at its limit passes, and one byte more is refused`() async throws {
        let folder = try await UploadDirectory(path: directory.path)
        for (file, all, size, passes) in [
            (1_000, nil, 1_000, true), (999, nil, 1_000, false), (nil, 2_000, 1_000, true), (nil, 1_999, 1_000, false),
        ] as [(Int64?, Int64?, Int, Bool)] {
            var limits = MultipartLimits()
            (limits.fileBytes, limits.allFileBytes) = (file.map { .bytes($0) }, all.map { .bytes($0) })
            let body = ["a", "b"].flatMap { IncomingFormTests.part("f", pattern(size), fileName: $0) }
            let form = try IncomingForm(
                Pieces(body + IncomingFormTests.end, of: 300), contentType: IncomingFormTests.type, limits: limits)
            do {
                for try await part in form { _ = try await part.collect(to: folder) }
                #expect(passes)
            } catch {
                #expect(!passes && error.code == .fileTooLarge && error.responseStatus == 413)
            }
        }
        #expect(MultipartLimits().fileBytes == .mebibytes(64) && MultipartLimits().allFileBytes == .mebibytes(256))
    }

    @Test func `files are kept once, in one call or several`() async throws {
        let folder = try await UploadDirectory(path: directory.path)
        let form = try parts(["a.jpg", "b.jpg", "c.jpg"])
        var kept: [String] = []
        for try await part in form {
            _ = try await part.collect(to: folder, naming: .suggested)
            if part.fileName == "b.jpg" { kept += try await form.keepFiles().map(\.name) }
        }
        #expect(kept == ["a.jpg", "b.jpg"])
        #expect(try await form.keepFiles().map(\.name) == ["c.jpg"])
        #expect(try await form.keepFiles() == [])
        #expect(try directory.list().sorted() == ["a.jpg", "b.jpg", "c.jpg"])
    }

    @Test func `if a file cannot be kept, none is`() async throws {
        let folder = try await UploadDirectory(path: directory.path)
        let form = try parts(["a.jpg", "b.jpg"])
        var files: [CollectedFile] = []
        for try await part in form { files.append(try await part.collect(to: folder, naming: .suggested)) }
        unsafe unlink(files[1].path)
        await #expect(throws: BodyError.self) { try await form.keepFiles() }
        #expect(try directory.list().allSatisfy { $0.hasPrefix(".incoming-") })
    }

    @Test func `files left by a crash are removed, those of a form are not`() async throws {
        var folder = try await UploadDirectory(path: directory.path)
        folder.namesUnfinishedFiles = true
        let alive = try IncomingFile(in: folder)
        let form = try parts(["card.jpg"])
        for try await part in form { _ = try await part.collect(to: folder, naming: .suggested) }
        let living = Set(try directory.list())
        #expect(living.count == 3)
        let abandoned = ".incoming-" + String(repeating: "a", count: 32)
        let others = [abandoned + "-x", ".incoming-notes"]
        for name in [abandoned, abandoned + "-" + String(repeating: "b", count: 32)] + others {
            _ = try directory.file(name, [1])
        }
        _ = try directory.file(
            ".incoming-" + String(repeating: "c", count: 32) + "-" + String(repeating: "d", count: 32), [1])
        _ = try await UploadDirectory(path: directory.path)
        #expect(Set(try directory.list()) == living.union(others))
        #expect(try await form.keepFiles().map(\.name) == ["card.jpg"])
        withExtendedLifetime(alive) {}
    }

    @Test func `a directory is created private, and links, files and public directories are refused`() async throws {
        let made = directory.path + "/made"
        _ = try await UploadDirectory(path: made)
        #expect(mode(made) == 0o700)
        unsafe rmdir(made)
        _ = unsafe symlink("/tmp", directory.path + "/link")
        _ = try directory.file("file", [])
        for path in [directory.path + "/link", directory.path + "/file", directory.path + "/no/folder", "", "a\0b"] {
            let error = await #expect(throws: BodyError.self) { _ = try await UploadDirectory(path: path) }
            #expect(error?.code == .writeFailed)
        }
        unsafe chmod(directory.path, 0o777)
        await #expect(throws: BodyError.self) { _ = try await UploadDirectory(path: directory.path) }
        unsafe chmod(directory.path, 0o700)
    }
}
