import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct AdaptTests {
    private let url = SessionWorld.url

    @Test func `an interceptor changes header fields and query of each attempt`() async throws {
        let (session, transport, _) = SessionWorld.intercepted(
            [
                .adapting("sign") { request in
                    request.headers[.init("X-Attempt")!] = "\(request.attempt)"
                    request.appendQuery("名", "a b&c")
                },
                .adapting("second") { request in
                    request.headers[.init("X-Saw")!] = request.headers[.init("X-Attempt")!]
                },
            ],
            [.responding(.serviceUnavailable), .responding(.ok)],
            retry: RetryPolicy(maxRetries: 1, baseDelay: .zero))
        _ = try await session.upload(.data([1, 2, 3]), to: url + "?a=1")
        #expect(transport.transfers.map { $0.request.headers[.init("X-Attempt")!] } == ["1", "2"])
        #expect(transport.transfers[0].request.headers[.init("X-Saw")!] == "1")
        #expect(transport.transfers.allSatisfy { $0.request.url == url + "?a=1&%E5%90%8D=a%20b%26c" })
    }

    @Test func `an interceptor sees the length, type and parts of the body, and the credential`() async throws {
        let seen = Watched<[(BodyDescription?, String?)]>([])
        let (session, _, _) = SessionWorld.intercepted(
            [.adapting("look") { r in seen.update { [r] in $0.append((r.body, r.headers[.authorization])) } }])
        var options = UploadOptions(authentication: .bearer(.secret("t0ken")))
        options.retry = .none
        _ = try await session.upload(
            [.text("a", "xyz"), .data("f", [1, 2], fileName: "f.bin")], to: url, options: options)
        let (body, credential) = try #require(seen.value.first)
        #expect(body?.parts.map(\.name) == ["a", "f"])
        #expect(body?.parts.map { $0.range.count } == [3, 2])
        #expect(body?.contentType?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(try #require(body?.length) > 5)
        #expect(credential == "Bearer t0ken")
    }

    @Test func `an interceptor that throws fails the upload with its name and error, before sending`()
        async throws
    {
        let (session, transport, _) = SessionWorld.intercepted(
            [.adapting("sign") { _ in throw Refusal(number: 7) }], retry: .standard)
        let error = try #require(await session.start(.data([1]), to: url).error())
        #expect(error.code == .interceptorFailed)
        #expect(error.message.contains("\"sign\""))
        #expect(error.cause as? Refusal == Refusal(number: 7))
        #expect(error.outcome == .notSent)
        #expect(error.attempts.count == 1)
        #expect(!error.isRetryable)
        #expect(transport.transfers.isEmpty)
    }

    @Test func `an interceptor that hangs fails the upload after the limit, with its name`() async throws {
        let hanging = HangingInterceptor()
        defer { hanging.hang.release() }
        let (session, transport, clock) = SessionWorld.intercepted([hanging]) { $0.interceptorLimit = .seconds(5) }
        let task = session.start(.data([1]), to: url)
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(5))
        let error = try #require(await task.error())
        #expect(error.code == .interceptorTimedOut)
        #expect(error.message.contains("\"sleepy\"") && error.message.contains("5"))
        #expect(transport.transfers.isEmpty)
        // The slot is available again.
        _ = try await session.send(
            UploadRequest(
                .put, url, content: .data([1]),
                options: {
                    var options = UploadOptions()
                    options.excludedDefaults = .interceptors
                    return options
                }()))
        #expect(transport.transfers.count == 1)
    }

    @Test func `a cancel does not wait for an interceptor`() async throws {
        let hanging = HangingInterceptor()
        defer { hanging.hang.release() }
        let (session, transport, _) = SessionWorld.intercepted([hanging])
        let task = session.start(.data([1]), to: url)
        try await hanging.hang.entered.waitUntil { $0 == 1 }
        task.cancel()
        let error = try #require(await task.error())
        #expect(error.code == .cancelled)
        #expect(error.outcome == .notSent)
        #expect(transport.transfers.isEmpty)
    }

    @Test(arguments: TransferRequest.reservedFields)
    func `an interceptor can't set framing fields`(name: HTTPField.Name) async throws {
        let (session, transport, _) = SessionWorld.intercepted([.adapting("rude") { $0.headers[name] = "1" }])
        let error = try #require(await session.start(.data([1]), to: url).error())
        #expect(error.code == .invalidRequest)
        #expect(error.message.contains(name.rawName) && error.message.contains("\"rude\""))
        #expect(transport.transfers.isEmpty)
    }

    @Test func `an interceptor can't remove the boundary of a form`() async throws {
        let (session, transport, _) = SessionWorld.intercepted(
            [.adapting("typist") { $0.headers[.contentType] = "multipart/form-data" }])
        let error = try #require(await session.start([.text("a", "b")], to: url).error())
        #expect(error.code == .invalidRequest)
        #expect(transport.transfers.isEmpty)
    }

    @Test func `a query is encoded once and can't break out of its line`() async throws {
        let (session, transport, _) = SessionWorld.intercepted([.adapting("q") { $0.query = "a=%20 张#\r\nX: y" }])
        _ = try await session.upload(.data([1]), to: url)
        #expect(transport.transfers[0].request.url == url + "?a=%20%20%E5%BC%A0%23%0D%0AX:%20y")
    }

    @Test func `interceptors do not run for redirects to another origin`() async throws {
        let (session, transport, _) = SessionWorld.intercepted(
            [.adapting("sign") { $0.headers[.init("X-Sign")!] = "s" }],
            [.redirecting(to: "/next"), .redirecting(to: "http://elsewhere.example/"), .responding(.ok)])
        _ = try await session.upload(.data([1]), to: url)
        #expect(transport.transfers.map { $0.request.headers[.init("X-Sign")!] } == ["s", "s", nil])
    }

    @Test func `interceptors of a request run after those of the session, and also without them`() async throws {
        let order = Watched<[String]>([])
        func noting(_ name: String) -> ClosureInterceptor { .adapting(name) { _ in order.update { $0.append(name) } } }
        let (session, _, _) = SessionWorld.intercepted([noting("session")])
        var request = UploadRequest(.put, url, content: .data([1]))
        request.interceptors = [noting("request")]
        _ = try await session.send(request)
        request.options = UploadOptions()
        request.options?.excludedDefaults = .interceptors
        _ = try await session.send(request)
        #expect(order.value == ["session", "request", "request"])
    }

    @Test func `errors redact credentials added by an interceptor`() async throws {
        let server = try LoopbackServer(
            otherwise: .respond(.raw("HTTP/1.1 403 no s3cr3t-sign here\r\nContent-Length: 0\r\n\r\n")))
        var configuration = UploadSession.Configuration()
        configuration.options.retry = .none
        configuration.interceptors = [.adapting("sign") { $0.appendQuery("sign", "s3cr3t-sign") }]
        let error = try #require(
            await UploadSession(configuration: configuration).start(.data([1]), to: server.url()).error())
        #expect(try await server.request(0).target.hasSuffix("?sign=s3cr3t-sign"))
        #expect(!"\(error) \(error.debugDescription) \(error.attempts)".contains("s3cr3t-sign"))
    }

    @Test func `a form is composed once for all its attempts`() async throws {
        let count = Watched(0)
        let (session, transport, _) = SessionWorld.intercepted(
            [
                .composing("stamp") { form in
                    count.update { $0 += 1 }
                    form.append(.text("stamp", "\(count.value)"))
                }
            ],
            [.responding(.serviceUnavailable), .responding(.ok)], retry: RetryPolicy(maxRetries: 1, baseDelay: .zero))
        _ = try await session.upload([.text("a", "b")], to: url)
        #expect(try transport.transfers.map { try $0.form().text("stamp") } == ["1", "1"])
        #expect(transport.transfers[0].body == transport.transfers[1].body)
    }

    @Test func `a composer that throws is named in the error, and nothing is sent`() async throws {
        let (session, transport, _) = SessionWorld.intercepted([.composing("stamp") { _ in throw Refusal() }])
        let error = try #require(await session.start([.text("a", "b")], to: url).error())
        #expect(error.code == .interceptorFailed && error.phase == .preparing)
        #expect(error.message.contains("\"stamp\"") && error.cause is Refusal)
        #expect(transport.transfers.isEmpty)
    }

    @Test func `a thousand intercepted uploads all end, some of them cancelled`() async throws {
        let (session, _, _) = SessionWorld.intercepted(
            [.adapting("yield") { _ in await Task.yield() }, JSONEnvelope()], [.responding(.ok, body: #"{"code":0}"#)])
        let tasks = (0..<1_000).map { _ in session.start(.data([1]), to: url) }
        for (index, task) in tasks.enumerated() where index.isMultiple(of: 3) { task.cancel() }
        for (index, task) in tasks.enumerated() {
            let error = await task.error()
            #expect(
                error == nil || index.isMultiple(of: 3) && error?.code == .cancelled,
                "\(index): \(String(describing: error))")
        }
    }
}
