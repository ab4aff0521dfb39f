import Foundation
import ReceiverKit
import Testing

/// The backend, compared with curl(1) and sha256sum(1).
@Suite(.timeLimit(.minutes(1)))
struct ReceiverTests {
    @Test func `a form is stored unchanged and in order`() async throws {
        try await withReceiver { receiver, scratch in
            let photo = try scratch.write("photo.jpg", jpeg(width: 640, height: 400, padding: 300_000))
            let exchange = try await curl(
                "-F", "TOKEN=right", "-F", "USERNO=42", "-F", "FILE=@\(photo);type=image/jpeg;filename=IDFront.jpg",
                "-F", "USERNO=43", to: receiver.url)
            #expect(exchange.status == 200)
            let envelope = try exchange.envelope()
            #expect(envelope.RETCODE == "000000")
            let content = try #require(envelope.DATA)
            #expect(content.FIELDS == [.init(name: "USERNO", value: "42"), .init(name: "USERNO", value: "43")])
            let file = try #require(content.FILES.first)
            #expect(content.FILES.count == 1)
            #expect(file.name == "FILE")
            #expect(file.fileName == "IDFront.jpg")
            #expect(file.type == "image/jpeg")
            #expect(file.width == 640)
            #expect(file.height == 400)

            let sum = try await run("sha256sum", [photo])
            #expect(String(decoding: sum.output.prefix(64), as: UTF8.self) == file.sha256)
            let stored = try stored(in: receiver.directory)
            #expect(stored.map(\.count) == [file.bytes])
            let sent = try Data(contentsOf: URL(fileURLWithPath: photo))
            #expect(stored == [sent])
        }
    }

    @Test func `waybill post and curl send the same form`() async throws {
        try await withReceiver { receiver, scratch in
            let file = try scratch.write("a \"b\" ü.bin", Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
            let form = [
                "-F", "USERNO=42", "-F", "NOTE=größer als 1 MB, naïve", "--form-string", "ODD=@not a file",
                "-F", "FILE=@\(file);type=application/x-odd", "-F", "AGAIN=@\(file);filename=x.bin", "-F", "USERNO=43",
            ]
            let theirs = try await run("curl", ["-s", "-F", "TOKEN=right"] + form + [receiver.url])
            let ours = try await run(
                commandPath, ["post", receiver.url, "-F", "TOKEN=env:SECRET"] + form, environment: ["SECRET": "right"])
            #expect(theirs.exitCode == 0)
            #expect(ours.exitCode == 0)
            let envelope = try JSONDecoder().decode(Envelope.self, from: theirs.output)
            #expect(envelope.RETCODE == "000000")
            #expect(envelope.DATA?.FILES.map(\.bytes) == [70_000, 70_000])
            let text = String(decoding: theirs.output, as: UTF8.self)
            #expect(String(decoding: ours.output, as: UTF8.self).hasPrefix(text))
        }
    }

    @Test func `waybill post fails on an HTTP error but not on a rejection in the envelope`() async throws {
        try await withReceiver(sizeLimit: 1_000) { receiver, scratch in
            let file = try scratch.write("big", Data(repeating: 7, count: 300_000))
            let refused = try await run(commandPath, ["post", receiver.url, "-F", "FILE=@\(file)"])
            #expect(refused.exitCode == 1)
            #expect(String(decoding: refused.output, as: UTF8.self).contains("100003"))
            let wrong = try await run(commandPath, ["post", receiver.url, "-F", "TOKEN=wrong"])
            #expect(wrong.exitCode == 0)
            #expect(String(decoding: wrong.output, as: UTF8.self).contains("100001"))
        }
    }

    @Test func `files are private and have generated names`() async throws {
        try await withReceiver { receiver, scratch in
            let file = try scratch.write("a", Data("x".utf8))
            for name in ["../../escape", "/etc/passwd", "..", "", "a\\u0000b", "%2e%2e%2fx", "x;y\"z"] {
                let exchange = try await curl(
                    "-F", "TOKEN=right", "-F", "FILE=@\(file);filename=\"\(name.replacing("\"", with: "\\\""))\"",
                    to: receiver.url)
                let envelope = try exchange.envelope()
                #expect(envelope.RETCODE == "000000")
                #expect(envelope.DATA?.FILES.first?.fileName == name)
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: receiver.directory)
            #expect(names.count == 7)
            for name in names {
                #expect(name.wholeMatch(of: /[0-9a-f]{1,16}\.part/) != nil)
                let path = "\(receiver.directory)/\(name)"
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
            #expect(!FileManager.default.fileExists(atPath: "\(receiver.directory)/../../escape"))
        }
    }

    @Test(arguments: ["TOKEN=wrong", "TOKEN=righ", "TOKEN=rightt", "NOTOKEN=right"])
    func `a wrong token is rejected in the envelope and no file is kept`(_ field: String) async throws {
        try await withReceiver { receiver, scratch in
            let file = try scratch.write("a", Data(repeating: 1, count: 1_000))
            let exchange = try await curl("-F", "FILE=@\(file)", "-F", field, to: receiver.url)
            #expect(exchange.status == 200)
            #expect(try exchange.envelope().RETCODE == "100001")
            #expect(try stored(in: receiver.directory).isEmpty)
        }
    }

    @Test func `a request above the limit is rejected by its length`() async throws {
        try await withReceiver(sizeLimit: 100_000) { receiver, scratch in
            let file = try scratch.write("big", Data(repeating: 7, count: 3_000_000))
            let exchange = try await curl("-H", "Expect:", "-F", "TOKEN=right", "-F", "FILE=@\(file)", to: receiver.url)
            #expect(exchange.exitCode == 0)
            #expect(exchange.status == 413)
            #expect(try exchange.envelope().RETCODE == "100003")
            #expect(try stored(in: receiver.directory).isEmpty)
        }
    }

    @Test func `a chunked request above the limit is rejected while it is read`() async throws {
        try await withReceiver(sizeLimit: 100_000) { receiver, scratch in
            let file = try scratch.write("big", Data(repeating: 7, count: 3_000_000))
            let exchange = try await curl(
                "-H", "Expect:", "-H", "Transfer-Encoding: chunked", "-F", "TOKEN=right", "-F", "FILE=@\(file)",
                to: receiver.url)
            #expect(exchange.status == 413)
            #expect(try stored(in: receiver.directory).isEmpty)
        }
    }

    @Test func `a form above a parser limit has status 413 and leaves no file`() async throws {
        try await withReceiver { receiver, scratch in
            let file = try scratch.write("a", Data(repeating: 1, count: 1_000))
            let fields = (0..<1_001).flatMap { ["-F", "f\($0)=x"] }
            let exchange = try await curl(
                arguments: ["-F", "TOKEN=right", "-F", "FILE=@\(file)"] + fields, to: receiver.url)
            #expect(exchange.status == 413)
            #expect(try exchange.envelope().RETCODE == "100003")
            #expect(try stored(in: receiver.directory).isEmpty)
        }
    }

    @Test(arguments: [
        ("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\ncut off"),
        ("multipart/form-data; boundary=b", "no boundary at all"),
        ("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: attachment\r\n\r\n\r\n--b--\r\n"),
        ("multipart/form-data", "--b--\r\n"),
        ("application/json", "{}"),
    ])
    func `a malformed form is rejected with the reason`(_ type: String, _ body: String) async throws {
        try await withReceiver { receiver, _ in
            let exchange = try await curl("-H", "Content-Type: \(type)", "--data-binary", body, to: receiver.url)
            #expect(exchange.status == 400)
            let envelope = try exchange.envelope()
            #expect(envelope.RETCODE == "100002")
            #expect(envelope.RETMSG.count > 20)
            #expect(try stored(in: receiver.directory).isEmpty)
        }
    }

    @Test func `an interrupted upload leaves no file`() async throws {
        try await withReceiver { receiver, scratch in
            let file = try scratch.write("big", Data(repeating: 7, count: 3_000_000))
            let exchange = try await curl(
                "-H", "Expect:", "--limit-rate", "1M", "-m", "0.3", "-F", "FILE=@\(file)", to: receiver.url)
            #expect(exchange.exitCode == 28)
            // The server may notice the disconnect later: poll with further requests.
            for _ in 0..<100 where try !stored(in: receiver.directory).isEmpty {
                _ = try await curl("-F", "TOKEN=wrong", to: receiver.url)
            }
            #expect(try stored(in: receiver.directory).isEmpty)
        }
    }

    @Test func `other paths and methods are not found`() async throws {
        try await withReceiver { receiver, _ in
            let method = try await curl(to: receiver.url)
            #expect(method.status == 404)
            let path = try await curl("-d", "x", to: receiver.url + "/other")
            #expect(path.status == 404)
        }
    }

    @Test func `stopping the server removes temporary files`() async throws {
        let receiver = try await Receiver.start(.init(token: "right"))
        _ = try await curl("-F", "TOKEN=right", "-F", "FILE=x;filename=x", to: receiver.url)
        #expect(try stored(in: receiver.directory).count == 1)
        await receiver.stop()
        #expect(!FileManager.default.fileExists(atPath: receiver.directory))
        #expect(try await curl("-F", "TOKEN=right", to: receiver.url).exitCode == 7)
    }

    private func stored(in directory: String) throws -> [Data] {
        try FileManager.default.contentsOfDirectory(atPath: directory).map { name in
            try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
    }
}

/// A temporary directory for the files of a test.
struct Scratch {
    let path = "\(FileManager.default.temporaryDirectory.path)/samples-\(UUID().uuidString)"

    init() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    func write(_ name: String, _ bytes: Data) throws -> String {
        let file = "\(path)/\(name)"
        try bytes.write(to: URL(fileURLWithPath: file))
        return file
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}

/// Returns the markers of a JPEG file of this size, with comments of `padding` bytes before the frame header.
func jpeg(width: UInt16, height: UInt16, padding: Int) -> Data {
    var bytes = Data([0xFF, 0xD8])
    var left = padding
    while left > 0 {
        let count = min(left, 65_533)
        bytes += [0xFF, 0xFE, UInt8((count + 2) >> 8), UInt8((count + 2) & 255)]
        bytes += Data(repeating: 65, count: count)
        left -= count
    }
    bytes += [0xFF, 0xC0, 0, 11, 8, UInt8(height >> 8), UInt8(height & 255), UInt8(width >> 8), UInt8(width & 255)]
    return bytes + [1, 1, 0x11, 0, 0xFF, 0xD9]
}
