import CardArtist
import Foundation
import ReceiverKit
import Testing
import Waybill

@testable import IDCardFlow

/// The command, and its checks of the backend's response.
@Suite(.timeLimit(.minutes(2)))
struct IDCardFlowTests {
    @Test func `the backend stores both sides and the program exits with 0`() async throws {
        let directory = try Directory()
        let (code, output) = try await runFlow(["--cards", directory.path, "--width", "800"])
        #expect(code == 0, "\(output)")
        for side in ["front", "back"] {
            #expect(output.contains("  \(side) 100 %"), "\(output)")
        }
        let sums = output.matches(of: /sha256 (here|there) +([0-9a-f]{64})/).map(\.output.2)
        #expect(sums.count == 4)
        #expect(Set(sums).count == 2)
        #expect(output.matches(of: /HTTP 200, RETCODE 000000/).count == 2)
        #expect(output.matches(of: /[0-9]+\.[0-9] KiB in/).count == 2)
        #expect(!output.contains("closed by the backend"))
    }

    @Test(arguments: ["50%", "1", "99%"])
    func `--cut-at closes the first connection, and the upload continues at that byte`(_ value: String) async throws {
        let directory = try Directory()
        let (code, output) = try await runFlow(["--cut-at", value, "--cards", directory.path, "--width", "800"])
        #expect(code == 0, "\(output)")
        let percent = try #require(Int(value.filter(\.isNumber)))
        #expect(output.matches(of: /connection closed by the backend at (\d+) %/).map(\.output.1) == ["\(percent)"])
        let lines = output.matches(of: /front: upload continues at byte (\d+) of (\d+) \(stored by the server\)/)
        let (offset, length) = try #require(lines.first.map { (Int($0.output.1), Int($0.output.2)) })
        #expect(lines.count == 1 && offset == length.map { $0 * percent / 100 })
        let sums = output.matches(of: /sha256 (here|there) +([0-9a-f]{64})/).map(\.output.2)
        #expect(sums.count == 4 && Set(sums).count == 2)
    }

    @Test(arguments: ["0", "100%", "-1", "50%%", "half", ""])
    func `--cut-at needs a percentage from 1 to 99`(_ value: String) async throws {
        let (code, output) = try await runFlow(["--cut-at", value])
        #expect(code == 64)
        #expect(output.contains("usage:"))
    }

    @Test func `--watch waits for the page, shows both uploads and exits on SIGINT`() async throws {
        let directory = try Directory()
        let flow = try Running(flow, ["--watch", "--cards", directory.path, "--width", "320"])
        let page = await flow.lines.compactMap { try? /(http:.*)\/#watch=([0-9a-f]{32})/.firstMatch(in: $0)?.output }
            .first { _ in true }
        let link = try #require(page)
        let events = try Running("/usr/bin/curl", ["-sN", "\(link.1)/watch/\(link.2)/events"])
        var stored = 0
        var seen: [String] = []
        for await line in events.lines where line.hasPrefix("data: [{") {
            seen.append(line)
            if line.contains(#""state":"stored""#) { stored += 1 }
            if stored == 2 { break }
        }
        kill(events.process.processIdentifier, SIGKILL)
        #expect(seen.first?.contains(#""state":"arriving""#) == true)
        for side in ["front", "back"] { #expect(seen.contains { $0.contains("\"fileName\":\"ID-\(side).jpg\"") }) }
        var output = ""
        for await line in flow.lines {
            output += line + "\n"
            if line.hasPrefix("Both sides are stored") { flow.process.interrupt() }
        }
        await flow.ended()
        #expect(flow.process.terminationStatus == 0, "\(output)")
        #expect(output.contains("its files are deleted"))
    }

    @Test func `--photos writes both photos and posts nothing`() async throws {
        let directory = try Directory()
        let (code, output) = try await runFlow(["--photos", directory.path, "--width", "320"])
        #expect(code == 0, "\(output)")
        #expect(output.split(separator: "\n").count == 2 && !output.contains("Backend"), "\(output)")
        #expect(output.contains("\(directory.path)/front.jpg: "))
        for side in CardArtist.Side.allCases {
            let photo = try Data(contentsOf: URL(filePath: "\(directory.path)/\(side.rawValue).jpg"))
            #expect(photo == Data(try await CardArtist.photo(of: side, width: 320)))
        }
    }

    @Test func `a missing directory for photos is an error`() async throws {
        let directory = try Directory()
        let (code, output) = try await runFlow(["--photos", "\(directory.path)/missing", "--width", "320"])
        #expect(code == 1)
        #expect(output.contains("IDCardFlow failed"), "\(output)")
    }

    @Test func `an unknown option prints the usage`() async throws {
        let (code, output) = try await runFlow(["--nonsense", "1"])
        #expect(code == 64)
        #expect(output.contains("usage:"))
    }

    @Test func `a rejection in the envelope is an error without the token`() async throws {
        let directory = try Directory()
        let cards = try await CardArtist.cards(in: directory.path, width: 320)
        let receiver = try await Receiver.start(.init(token: "the right one"))
        let business = Business(token: .secret("s3cr3t-token"), number: "B-1")
        let upload = CardUpload(side: "front", path: cards.front, business: business)
        let error = await #expect(throws: Mismatch.self) {
            try await upload.run(UploadSession(), to: receiver.url)
        }
        #expect(error?.description.contains("100001") == true)
        #expect(!"\(upload) \(business)".contains("s3cr3t"))
        await receiver.stop()
    }

    @Test(arguments: [
        ("code", Reply(RETCODE: "9", RETMSG: "no", DATA: nil)),
        ("no file", reply(files: [])),
        ("two files", reply(files: [file(), file()])),
        ("length", reply(files: [file(bytes: 4)])),
        ("bytes", reply(files: [file(sha256: "00")])),
        ("name", reply(files: [file(name: "other.jpg")])),
        ("not an image", reply(files: [file(width: nil)])),
        ("fields", reply(files: [file()], fields: ["USERNO"])),
        ("leaked token", reply(files: [file()], fields: fields + ["TOKEN"])),
    ])
    func `a response that differs from the form is detected`(_ name: String, _ reply: Reply) async throws {
        let image = try await Self.image()
        let upload = CardUpload(side: "front", path: "", business: Business(token: .secret("t"), number: "1"))
        #expect(throws: Mismatch.self) { try upload.check(reply, image) }
        let right = Self.reply(files: [Self.file(sha256: image.sha256)])
        #expect(throws: Never.self) { try upload.check(right, image) }
    }

    // MARK: Helpers

    private let flow = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "IDCardFlow")
        .path

    private static let fields = ["USERNO", "BUSINESSTYPE", "BUSINESSNO", "DOCTYPE"]
    private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    private static func image() async throws -> PreparedImage {
        let form: MultipartForm = [.text("A", "before"), .data("FILE", Array("abc".utf8)), .text("B", "after")]
        return try await PreparedImage(of: form.prepared(), part: "FILE")
    }

    private static func file(
        name: String = "ID-front.jpg", bytes: Int64 = 3, sha256: String = abc, width: Int? = 10
    ) -> Reply.File {
        Reply.File(fileName: name, bytes: bytes, sha256: sha256, width: width, height: 10)
    }

    private static func reply(files: [Reply.File], fields: [String] = fields) -> Reply {
        let fields = fields.map { Reply.Field(name: $0, value: "x") }
        return Reply(RETCODE: "000000", RETMSG: "stored", DATA: Reply.Content(FIELDS: fields, FILES: files))
    }

    private func runFlow(_ arguments: [String]) async throws -> (Int32, String) {
        let process = Process()
        process.executableURL = URL(filePath: flow)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let output = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
                process.waitUntilExit()
                continuation.resume(returning: (process.terminationStatus, String(decoding: output, as: UTF8.self)))
            }
        }
    }
}

/// A directory that is deleted with the object.
private final class Directory {
    let path = FileManager.default.temporaryDirectory.appending(path: "flow-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A running program whose output is read line by line.
private final class Running: Sendable {
    let process: Process
    let lines: AsyncStream<String>
    private let end: Task<Void, Never>

    init(_ program: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        self.process = process
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        self.end = Task { for await _ in ends {} }
        try process.run()
        Thread.detachNewThread {
            var bytes = Data()
            while case let more = pipe.fileHandleForReading.availableData, !more.isEmpty {
                bytes += more
                while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: bytes[..<end], as: UTF8.self))
                    bytes = Data(bytes[(end + 1)...])
                }
            }
            continuation.finish()
            process.waitUntilExit()
            end.finish()
        }
    }

    func ended() async { await end.value }
}
