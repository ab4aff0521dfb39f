import CardArtist
import Foundation
import ReceiverKit
import Testing

/// The HTTP interface of the page, tested with curl(1).
@Suite(.timeLimit(.minutes(2)))
struct PageTests {
    @Test(arguments: [
        ("/", "text/html; charset=utf-8"), ("/page/page.css", "text/css; charset=utf-8"),
        ("/page/send.js", "text/javascript; charset=utf-8"), ("/page/watch.js", "text/javascript; charset=utf-8"),
        ("/page/compare.js", "text/javascript; charset=utf-8"), ("/page/words.js", "text/javascript; charset=utf-8"),
        ("/page/page.svg", "image/svg+xml"),
    ])
    func `the page and its files have a content type and a security policy`(_ path: String, _ type: String) async throws
    {
        try await withReceiver { receiver, _ in
            let head = try await head(of: receiver.origin + path)
            #expect(head.hasPrefix("HTTP/1.1 200"))
            #expect(head.contains("content-type: \(type)\n"))
            expectSecurityHeaders(head)
            let isPage = path == "/"
            #expect(head.contains("script-src 'self'") == isPage)
            #expect(head.contains("sandbox") == !isPage)
            for word in ["unsafe", "http:", "data:", "blob:", "*"] { #expect(!head.contains(word), "\(word)") }
            let body = try await curl(to: receiver.origin + path).body
            #expect(body.count > 200)
            let text = String(decoding: body, as: UTF8.self)
            // The policy blocks inline scripts, styles and handlers; there must be none, because they would log errors.
            #expect(text.firstMatch(of: /<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|innerHTML|outerHTML/) == nil)
            #expect(text.firstMatch(of: /insertAdjacentHTML|document\.write|\beval\(|new Function/) == nil)
        }
    }

    @Test func `without the key no upload is accessible`() async throws {
        try await withReceiver { receiver, scratch in
            try await receiver.post("a.jpg", Data("x".utf8), scratch: scratch)
            let arrival = try #require(try await receiver.latest())
            #expect(receiver.key.wholeMatch(of: /[0-9a-f]{32}/) != nil)
            let page = try await curl(to: receiver.origin + "/").body
            #expect(!String(decoding: page, as: UTF8.self).contains(receiver.key))
            let wrong = String(repeating: "0", count: 32)
            for key in [
                wrong, "", "%00", String(receiver.key.dropLast()), receiver.key + "0", receiver.key.uppercased() + "z",
            ] {
                let events = try await curl("-m", "20", to: "\(receiver.origin)/watch/\(key)/events")
                #expect(events.status == 404)
                let file = try await curl(to: "\(receiver.origin)/watch/\(key)/arrivals/\(arrival.id)/0/file")
                #expect(file.status == 404)
            }
            for path in ["0/other", "1/file", "-1/file", "99999999999999999999/file", "x/file"] {
                let exchange = try await curl(
                    to: "\(receiver.origin)/watch/\(receiver.key)/arrivals/\(arrival.id)/\(path)")
                #expect(exchange.status == 404)
            }
            // DNS rebinding: the right key with another host.
            for path in ["/", "/watch/\(receiver.key)/events"] {
                let rebound = try await curl("-m", "20", "-H", "Host: evil.example", to: receiver.origin + path)
                #expect(rebound.status == 421)
            }
        }
    }

    @Test func `the stream reports an upload of waybill until it is stored`() async throws {
        try await withRunningReceiver { receiver, scratch in
            let reader = try EventReader(receiver.events)
            #expect(await reader.first()?.name == "all")
            let file = try scratch.write("card.bin", Data(repeating: 7, count: 300_000))
            let posted = try await run(
                commandPath,
                [
                    "post", receiver.url, "-F", "TOKEN=env:SECRET", "-F", "BUSINESSNO=42", "-F", "FILE=@\(file)",
                    "--limit-rate", "400K",
                ], environment: ["SECRET": "right"])
            #expect(posted.exitCode == 0)
            let events = await reader.until("stored")
            reader.stop()

            let steps = events.flatMap(\.arrivals)
            let last = try #require(steps.last)
            #expect(Set(steps.map(\.id)).count == 1)
            #expect(steps.map(\.received) == steps.map(\.received).sorted())
            #expect(Set(steps.map(\.received)).count > 4, "\(steps.map(\.received))")
            #expect(steps.dropLast().allSatisfy { $0.state == "arriving" && $0.total == last.total })
            #expect(steps.dropLast().contains { $0.files.first?.fileName == "card.bin" && $0.bytesPerSecond > 0 })
            #expect(last.received == last.total)
            #expect(last.agent.hasPrefix("waybill"), "\(last.agent)")
            #expect(last.fields == [.init(name: "BUSINESSNO", value: "42")])
            #expect(last.files.map(\.bytes) == [300_000])
            let sum = try await run("sha256sum", [file])
            #expect(String(decoding: sum.output.prefix(64), as: UTF8.self) == last.files.first?.sha256)
            for event in events { #expect(!event.text.contains("right"), "The token is in the event.") }
        }
    }

    @Test func `rejected and interrupted uploads are reported without files`() async throws {
        try await withReceiver(sizeLimit: 1_000_000) { receiver, scratch in
            let file = try scratch.write("big", Data(repeating: 7, count: 900_000))
            _ = try await curl("-H", "Expect:", "-F", "FILE=@\(file)", "-F", "TOKEN=wrong", to: receiver.url)
            let wrong = try #require(try await receiver.latest())
            #expect(wrong.state == "rejected")
            #expect(wrong.message == "The token is invalid.")
            #expect(try await curl(to: receiver.view("file", of: wrong)).status == 404)

            let larger = try scratch.write("larger", Data(repeating: 7, count: 1_100_000))
            _ = try await curl("-H", "Expect:", "-F", "FILE=@\(larger)", to: receiver.url)
            let large = try #require(try await receiver.latest())
            #expect(large.state == "rejected")
            #expect(large.message.contains("1000000"))

            _ = try await curl(
                "-H", "Expect:", "-H", "Content-Type: multipart/form-data; boundary=b", "--data-binary", "@\(file)",
                to: receiver.url)
            let malformed = try #require(try await receiver.latest())
            #expect(malformed.state == "rejected")
            #expect(malformed.received < 900_000)
            #expect(!malformed.message.isEmpty)

            let reader = try EventReader(receiver.events)
            _ = try await curl(
                "-H", "Expect:", "--limit-rate", "300K", "-m", "1", "-F", "FILE=@\(file)", to: receiver.url)
            let interrupted = try #require(await reader.until("interrupted").last?.arrivals.last)
            reader.stop()
            #expect(interrupted.received < 900_000)
            #expect(interrupted.files.first?.fileName == "big")
        }
    }

    @Test func `the stream encodes names and values as JSON on one line`() async throws {
        try await withReceiver { receiver, scratch in
            for name in hostileNames {
                let exchange = try await receiver.post(
                    name, Data("x".utf8), fields: [("</script>", name.replacing("\n", with: " "))], scratch: scratch)
                let envelope = try exchange.envelope()
                let fileName = try #require(envelope.DATA?.FILES.first?.fileName)
                let arrival = try #require(try await receiver.latest())
                #expect(arrival.files.first?.fileName == fileName)
                #expect(arrival.fields == [.init(name: "</script>", value: name.replacing("\n", with: " "))])
            }
            let stream = try Lines("curl", ["-sN", "-D", "-", receiver.events])
            var head = ""
            for await line in stream.lines {
                if line.hasPrefix("data: ") { break }
                head += line + "\n"
            }
            stream.stop()
            expectSecurityHeaders(Self.normalised(head))
            #expect(Self.normalised(head).contains("content-type: text/event-stream\n"))
        }
    }

    @Test func `a stored file is an attachment with a sanitized name`() async throws {
        try await withReceiver { receiver, scratch in
            let bytes = Data("<script>alert(1)</script>".utf8)
            let names = [
                ("../../x.html", "x.html", "x.html"),
                ("身份证\u{202E}.jpg", "___.jpg", "%E8%BA%AB%E4%BB%BD%E8%AF%81%2Ejpg"),
                ("a\"; x=\"y", "a__ x__y", "a%5F%5F%20x%3D%5Fy"), ("..", "file", "file"),
            ]
            for (name, plain, encoded) in names {
                try await receiver.post(name, bytes, type: "text/html", scratch: scratch)
                let arrival = try #require(try await receiver.latest())
                let url = receiver.view("file", of: arrival)
                #expect(try await curl(to: url).body == bytes)
                let head = try await head(of: url)
                #expect(head.contains("content-type: application/octet-stream\n"))
                let header = head.firstMatch(
                    of: /content-disposition: attachment; filename="(.*)"; filename\*=UTF-8''(.*)\n/)
                #expect(
                    header.map { String($0.1) }?.replacing(" ", with: "_") == plain.replacing(" ", with: "_"), "\(head)"
                )
                #expect(
                    header.map { String($0.2).removingPercentEncoding } == encoded.removingPercentEncoding, "\(head)")
                expectSecurityHeaders(head)
            }
        }
    }

    @Test func `images are upright, small and without metadata`() async throws {
        try await withReceiver { receiver, scratch in
            let card = Data(try await CardArtist.photo(of: .back, width: 640))
            #expect(card.range(of: Data("Specimen Optics".utf8)) != nil)
            try await receiver.post("card.jpg", card, scratch: scratch)
            let arrival = try #require(try await receiver.latest())
            let facts = try await curl(to: receiver.view("facts.json", of: arrival))
            let decoded = try JSONDecoder().decode(Facts.self, from: facts.body)
            #expect(decoded.arrived == .init(bytes: card.count, width: 480, height: 640))
            #expect(decoded.limit == 102_400)
            #expect(decoded.stripped.contains("Exif"))
            for (view, bytes) in [("arrived.jpg", nil), ("small.jpg", decoded.small.bytes)] {
                let image = try await curl(to: receiver.view(view, of: arrival))
                #expect(image.status == 200)
                #expect(image.body.starts(with: [0xFF, 0xD8, 0xFF]))
                #expect(image.body.count <= bytes ?? .max)
                #expect(image.body.range(of: Data("Specimen Optics".utf8)) == nil)
                #expect(try await head(of: receiver.view(view, of: arrival)).contains("content-type: image/jpeg\n"))
            }
            #expect(decoded.small.bytes <= 102_400)
        }
    }

    @Test func `an invalid image has status 422 and a message`() async throws {
        try await withReceiver { receiver, scratch in
            try await receiver.post("cut.jpg", jpeg(width: 640, height: 400, padding: 500), scratch: scratch)
            let arrival = try #require(try await receiver.latest())
            for view in ["facts.json", "arrived.jpg", "small.jpg"] {
                let exchange = try await curl(to: receiver.view(view, of: arrival))
                #expect(exchange.status == 422)
                #expect(String(decoding: exchange.body, as: UTF8.self).hasPrefix("{\"message\":\""))
            }
        }
    }

    @Test func `stopping the server ends event streams`() async throws {
        let receiver = try await Receiver.start(.init(token: "right"))
        let reader = try EventReader(receiver.events)
        #expect(await reader.first()?.name == "all")
        await receiver.stop()
        await reader.drain()
        #expect(try await curl(to: receiver.origin + "/").exitCode == 7)
    }

    @Test func `the link of the page contains only the default token`() async throws {
        for (options, ending) in [([], "&token=specimen-token"), (["--token", "s3cr3t"], "")] {
            let receiver = try Lines(RunningReceiver.path, options)
            var printed: [String] = []
            for await line in receiver.lines {
                printed.append(line)
                if line.hasPrefix("page: ") { break }
            }
            await receiver.interrupt()
            let link = try #require(
                printed.last?.wholeMatch(of: /page: (http:\/\/127\.0\.0\.1:[0-9]+\/)#watch=[0-9a-f]{32}(.*)/))
            #expect(link.2 == ending)
            #expect(!printed.joined().contains("s3cr3t"))
        }
    }

    // MARK: Helpers

    private struct Facts: Decodable {
        struct Image: Decodable, Equatable {
            let bytes: Int
            let width: Int
            let height: Int
        }

        let limit: Int
        let arrived: Image
        let small: Image
        let stripped: [String]
    }

    private func head(of url: String) async throws -> String {
        let output = try await run("curl", ["-s", "-o", "/dev/null", "-D", "-", url]).output
        return Self.normalised(String(decoding: output, as: UTF8.self))
    }

    /// Normalizes a response head to lower-case names and LF.
    private static func normalised(_ head: String) -> String {
        head.replacing("\r\n", with: "\n").split(separator: "\n")
            .map { line in
                guard let colon = line.firstIndex(of: ":") else { return String(line) + "\n" }
                return String(line[..<colon]).lowercased() + String(line[colon...]) + "\n"
            }.joined()
    }

    private func expectSecurityHeaders(_ head: String) {
        #expect(head.contains("x-content-type-options: nosniff\n"))
        #expect(head.contains("referrer-policy: no-referrer\n"))
        #expect(head.contains("cache-control: no-store\n"))
        #expect(head.contains("cross-origin-resource-policy: same-origin\n"))
        #expect(head.contains("content-security-policy: default-src 'none'; "))
        #expect(head.contains("frame-ancestors 'none'"))
    }
}

/// File names that could break out of JSON, HTML or a header field.
let hostileNames = [
    "<img src=x onerror=window.hit=1>.jpg", "\"><script>window.hit=2</script>.jpg", "' onmouseover='window.hit=3.jpg",
    "&lt;b&gt;&#60;script&#62;window.hit=4.jpg", "photo\u{202E}gpj.exe", "two\nlines\u{2028}.jpg",
    "javascript:window.hit=5",
    String(repeating: "long-", count: 60) + ".jpg", "身份证 正面 🪪.jpg", "بطاقة الهوية (١).jpg", "${window.hit=6}`]]>.jpg",
]
