import Foundation
import Testing

@testable import ReceiverKit

/// Resumable uploads by the IETF draft, with raw requests and with the command.
@Suite(.timeLimit(.minutes(1)))
struct ResumableTests {
    /// A form with a file of 9,000 bytes; bodies of requests above 4 KiB are streamed.
    private let form = """
        --b\r\nContent-Disposition: form-data; name="TOKEN"\r\n\r\nright\r\n\
        --b\r\nContent-Disposition: form-data; name="FILE"; filename="a"\r\n\r\n\
        \(String(repeating: "abcdefghi", count: 1_000))\r\n--b--\r\n
        """

    @Test func `a form in two appends is stored and its response is kept`() async throws {
        try await withReceiver { receiver, _ in
            let path = try await receiver.create(length: form.utf8.count)
            #expect(path.wholeMatch(of: /\/upload\/[0-9a-f]{32}/) != nil)
            let first = try await receiver.append(form.first(5_000), at: 0, to: path)
            #expect(first.status == 200 && first["upload-offset"] == "5000" && first["upload-complete"] == "?0")
            let file = try #require(try files(of: receiver).first)
            #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)

            let state = try await receiver.send("HEAD \(path)")
            #expect(state.status == 200 && state["upload-offset"] == "5000" && state["upload-complete"] == "?0")
            #expect(state["upload-length"] == "\(form.utf8.count)" && state["cache-control"] == "no-store")
            #expect(state["upload-limit"]?.hasPrefix("max-size=8388608, max-age=35") == true)

            let last = try await receiver.append(form.rest(5_000), at: 5_000, to: path, completes: true)
            #expect(last.status == 200 && last["upload-complete"] == "?1" && last.code == "000000")
            #expect(try files(of: receiver).isEmpty)
            #expect(try await receiver.send("HEAD \(path)")["upload-complete"] == "?1")
            let again = try await receiver.append("", at: form.utf8.count, to: path, completes: true)
            #expect(again.body == last.body && again["upload-complete"] == "?1")
            #expect(try FileManager.default.contentsOfDirectory(atPath: receiver.directory).count == 1)
        }
    }

    @Test func `a creation may have a part of the form or all of it`() async throws {
        try await withReceiver { receiver, _ in
            let type = "Content-Type: multipart/form-data; boundary=b"
            let part = try await receiver.send("POST /upload", [type, "Upload-Complete: ?0"], body: "--b\r\n")
            #expect(part.status == 201 && part["upload-offset"] == "5")
            let rest = try await receiver.append(form.rest(5), at: 5, to: part.location)
            #expect(rest.status == 200 && rest["upload-complete"] == "?0")
            let end = try await receiver.append("", at: form.utf8.count, to: part.location, completes: true)
            #expect(end.code == "000000")
            let whole = try await receiver.send("POST /upload", [type, "Upload-Complete: ?1"], body: form)
            #expect(whole.status == 200 && whole["upload-complete"] == "?1" && whole.code == "000000")
        }
    }

    @Test(arguments: [("TOKEN", 400, "100002"), (#"TOKEN"\#r\#n\#r\#nwrong\#r\#n--b--\#r\#n"#, 200, "100001")])
    func `a rejection of the form is the response of a complete upload`(
        _ end: String, _ status: Int, _ code: String
    ) async throws {
        try await withReceiver { receiver, _ in
            let form = "--b\r\nContent-Disposition: form-data; name=\"\(end)"
            let path = try await receiver.create(length: form.utf8.count)
            for body in [form, ""] {
                let offset = form.utf8.count - body.utf8.count
                let response = try await receiver.append(body, at: offset, to: path, completes: true)
                #expect(response.status == status && response["upload-complete"] == "?1" && response.code == code)
            }
        }
    }

    @Test func `OPTIONS reports the limits by the version of the request`() async throws {
        try await withReceiver(sizeLimit: 1_000) { receiver, _ in
            let options = try await receiver.send("OPTIONS /upload")
            #expect(options["upload-limit"] == "max-size=1000, max-age=3600")
            let old = try await run(
                "curl", ["-si", "-X", "OPTIONS", "-H", "Upload-Draft-Interop-Version: 6", receiver.url])
            #expect(String(decoding: old.output, as: UTF8.self).contains("max-size=1000, expires=3600"))
        }
    }

    @Test(arguments: [
        (413, ["Upload-Complete: ?0", "Upload-Length: 1001"], ""),
        (413, ["Upload-Complete: ?0"], String(repeating: "x", count: 1_001)),
        (400, ["Upload-Complete: ?0", "Upload-Length: 3"], "four"),
        (400, ["Upload-Complete: ?1", "Upload-Length: 5"], "four"),
        // Without a valid field it is an ordinary form.
        (400, ["Upload-Complete: yes", "Upload-Length: 5"], ""),
        (400, ["Upload-Length: 5"], ""),
    ])
    func `an invalid creation is rejected`(_ status: Int, _ fields: [String], _ body: String) async throws {
        try await withReceiver(sizeLimit: 1_000) { receiver, _ in
            let response = try await receiver.send("POST /upload", fields, body: body)
            #expect(response.status == status)
            #expect(try files(of: receiver).isEmpty)
        }
    }

    private static let type = "Content-Type: application/partial-upload"

    @Test(arguments: [
        (409, [type, "Upload-Offset: 4", "Upload-Complete: ?0"], "abc", "5"),
        (409, [type, "Upload-Offset: 6", "Upload-Complete: ?1"], "", "5"),
        (415, ["Content-Type: text/plain", "Upload-Offset: 5", "Upload-Complete: ?0"], "abc", "5"),
        (400, [type, "Upload-Complete: ?0"], "abc", "5"),
        (400, [type, "Upload-Offset: -5", "Upload-Complete: ?0"], "abc", "5"),
        (400, [type, "Upload-Offset: 5"], "abc", "5"),
        (400, [type, "Upload-Offset: 5", "Upload-Complete: 1"], "abc", "5"),
        (400, [type, "Upload-Offset: 5", "Upload-Complete: ?1"], "abc", "5"),
        // Content beyond the length removes the upload.
        (400, [type, "Upload-Offset: 5", "Upload-Complete: ?0"], "abcdef", nil),
    ])
    func `an invalid append is rejected with the offset`(
        _ status: Int, _ fields: [String], _ body: String, _ offset: String?
    ) async throws {
        try await withReceiver { receiver, _ in
            let path = try await receiver.create(length: 10)
            #expect(try await receiver.append("12345", at: 0, to: path)["upload-offset"] == "5")
            let response = try await receiver.send("PATCH \(path)", fields, body: body)
            #expect(response.status == status && response["upload-offset"] == offset)
            #expect(response["upload-complete"] == (offset == nil ? nil : "?0"))
            if status == 409 { #expect(response.body.contains("#mismatching-upload-offset\"")) }
            let state = try await receiver.send("HEAD \(path)")
            #expect(state.status == (offset == nil ? 404 : 200) && state["upload-offset"] == offset)
        }
    }

    @Test func `an upload without a length is bounded by the limit`() async throws {
        try await withReceiver(sizeLimit: 1_000) { receiver, _ in
            let path = try await receiver.send("POST /upload", ["Upload-Complete: ?0"]).location
            let body = String(repeating: "x", count: 600)
            #expect(try await receiver.append(body, at: 0, to: path).status == 200)
            #expect(try await receiver.append(body, at: 600, to: path).status == 413)
            let endless = try await RawConnection(receiver)
            let fields = Receiver.appendFields(600, completes: false)
            try await endless.send(RawConnection.head("PATCH \(path)", fields, length: .max))
            #expect(try await endless.response().status == 413)
            try endless.close()
            let chunked = try await run(
                "curl",
                ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", "PATCH", "-H", Self.type, "-d", body]
                    + ["-H", "Upload-Offset: 600", "-H", "Upload-Complete: ?0", "-H", "Transfer-Encoding: chunked"]
                    + [receiver.origin + path])
            #expect(String(decoding: chunked.output, as: UTF8.self) == "413")
        }
    }

    @Test(arguments: ["HEAD", "PATCH", "DELETE"])
    func `a removed upload does not exist`(_ method: String) async throws {
        try await withReceiver { receiver, _ in
            let path = try await receiver.create(length: 10)
            #expect(try await receiver.send("DELETE \(path)").status == 200)
            #expect(try files(of: receiver).isEmpty)
            #expect(try await receiver.send("\(method) \(path)").status == 404)
        }
    }

    @Test func `the number of unfinished uploads is limited`() async throws {
        try await withReceiver(configure: { $0.maxUnfinished = 2 }) { receiver, _ in
            let path = try await receiver.create(length: 3)
            _ = try await receiver.create(length: 3)
            let full = try await receiver.send("POST /upload", ["Upload-Complete: ?0"])
            #expect(full.status == 503 && full["retry-after"] == "10")
            // A finished upload makes room.
            #expect(try await receiver.append("abc", at: 0, to: path, completes: true).status == 400)
            #expect(try await receiver.create(length: 3) != "")
        }
    }

    @Test func `an unfinished upload and a kept response expire`() async throws {
        try await withReceiver(configure: { $0.unfinishedLifetime = .milliseconds(300) }) { receiver, _ in
            let path = try await receiver.create(length: 10)
            try await expectGone(path, receiver)
            #expect(try files(of: receiver).isEmpty)
        }
        try await withReceiver(configure: { $0.responseLifetime = .milliseconds(300) }) { receiver, _ in
            let path = try await receiver.create(length: 3)
            #expect(try await receiver.append("abc", at: 0, to: path, completes: true).status == 400)
            try await expectGone(path, receiver)
        }
    }

    @Test(arguments: [true, false])
    func `an interrupted or stalled append keeps its bytes, and a newer request takes over`(
        _ isClosed: Bool
    ) async throws {
        try await withReceiver { receiver, _ in
            let path = try await receiver.create(length: form.utf8.count)
            let old = try await RawConnection(receiver)
            let fields = Receiver.appendFields(0, completes: true)
            try await old.send(RawConnection.head("PATCH \(path)", fields, length: form.utf8.count))
            try await old.send(form.first(6_000))
            let file = try #require(try files(of: receiver).first)
            while try Data(contentsOf: URL(filePath: file)).count < 6_000 {
                try await Task.sleep(for: .milliseconds(5))
            }
            if isClosed { try old.close() }
            #expect(try await receiver.send("HEAD \(path)")["upload-offset"] == "6000")
            if !isClosed {
                try await old.send("stale")
                await #expect(throws: (any Error).self) { try await old.response() }
                try old.close()
            }
            let last = try await receiver.append(form.rest(6_000), at: 6_000, to: path, completes: true)
            #expect(last.code == "000000")
        }
    }

    @Test func `the command continues after the receiver has closed its connection once`() async throws {
        try await withReceiver(configure: { $0.cutPercent = 50 }) { receiver, scratch in
            let photo = try scratch.write("photo.jpg", jpeg(width: 640, height: 400, padding: 300_000))
            let post = try await run(
                commandPath,
                ["post", receiver.url, "-F", "TOKEN=env:SECRET", "-F", "FILE=@\(photo)", "--resumable", "draft"]
                    + ["--retry", "1"],
                environment: ["SECRET": "right", "XDG_STATE_HOME": scratch.path("state")])
            #expect(post.exitCode == 0)
            let sum = try await run("sha256sum", [photo]).output.prefix(64)
            #expect(String(decoding: post.output, as: UTF8.self).contains(String(decoding: sum, as: UTF8.self)))
            let once = try await run(
                commandPath, ["post", receiver.url, "-F", "TOKEN=right", "--resumable", "draft"],
                environment: ["XDG_STATE_HOME": scratch.path("state")])
            #expect(once.exitCode == 0)
        }
    }

    private func files(of receiver: Receiver) throws -> [String] {
        let directory = receiver.unfinished.directory
        return try FileManager.default.contentsOfDirectory(atPath: directory).map { "\(directory)/\($0)" }
    }

    private func expectGone(_ path: String, _ receiver: Receiver) async throws {
        while try await receiver.send("HEAD \(path)").status != 404 { try await Task.sleep(for: .milliseconds(20)) }
    }
}

extension String {
    /// Lengths count bytes: CR LF is one character.
    fileprivate func first(_ count: Int) -> String { String(decoding: utf8.prefix(count), as: UTF8.self) }
    fileprivate func rest(_ offset: Int) -> String { String(decoding: utf8.dropFirst(offset), as: UTF8.self) }
}
