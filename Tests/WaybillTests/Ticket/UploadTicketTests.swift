import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import WaybillTesting

@testable import Waybill

@Suite struct UploadTicketTests {
    /// The document and the pointers of RFC 6901 section 5.
    private static let document = """
        {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\\\j": 5, "k\\"l": 6, " ": 7,
        "m~n": 8}
        """

    @Test(arguments: [
        ("/foo/0", "bar"), ("/foo/1", "baz"), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"), ("/e^f", "3"), ("/g|h", "4"),
        ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"),
    ]) func `the pointers of RFC 6901 find their values`(_ pointer: String, _ value: String) throws {
        let document = try #require(JSONDocument(Array(Self.document.utf8)))
        #expect(try JSONPointer(pointer).find(in: document)?.text == value)
    }

    @Test(arguments: ["/foo/2", "/foo/-", "/foo/00", "/foo/bar", "/a/b", "/m~01n", "/bar", "/foo/0/x"])
    func `pointers to nothing find nothing`(_ pointer: String) throws {
        let document = try #require(JSONDocument(Array(Self.document.utf8)))
        #expect(try JSONPointer(pointer).find(in: document) == nil)
    }

    @Test(arguments: ["data.url", "/a~2", "/a~", "#/a"]) func `invalid pointers are rejected before a request is sent`(
        _ pointer: String
    ) async throws {
        let world = SessionWorld([.responding(.ok)])
        let ask = UploadRequest(.post, SessionWorld.url)
        let error = await #expect(throws: UploadError.self) {
            try await world.session.run(
                TicketedUpload(data: [1], ask: ask, format: TicketFormat(url: pointer)))
        }
        #expect(error?.code == .invalidRequest && error?.message.contains(pointer) == true)
        #expect(world.transport.transfers.isEmpty)
    }

    private static let responses: [(body: String, pointer: String)] = [
        (#"{"data": {"link": "https://s.example/?sig=SECRET"}}"#, "/data/url"),
        (#"{"data": {"url": ["https://s.example/?sig=SECRET"]}}"#, "/data/url"),
        (#"{"data": {"url": null}}"#, "/data/url"),
        (#"{"data": {"url": ""}}"#, "/data/url"),
        (#"{"data": {"url": "/relative?sig=SECRET"}}"#, "/data/url"),
        (#"{"data": {"url": "ftp://s.example/?sig=SECRET"}}"#, "/data/url"),
        (#"{"data": {"url": "https://s.example/?sig=SECRET", "method": "PUT", "headers": [1]}}"#, "/data/headers"),
        (
            #"{"data": {"url": "https://s.example/?sig=SECRET", "method": "PUT", "headers": {"a": {}}}}"#,
            "/data/headers"
        ),
        (
            #"{"data": {"url": "https://s.example/?sig=SECRET", "method": "PUT", "headers": {"a b": "1"}}}"#,
            "/data/headers"
        ),
        (
            #"{"data": {"url": "https://s.example/?sig=SECRET", "method": "PUT", "headers": {"a": "1\n2"}}}"#,
            "/data/headers"
        ),
        (#"{"data": {"url": "https://s.example/?sig=SECRET", "method": "A B"}}"#, "/data/method"),
        (#"{"data": {"url": "https://s.example/?sig=SECRET", "method": "PUT", "ttl": "soon"}}"#, "/data/ttl"),
        (
            #"{"data": {"url": "https://s.example/?sig=SECRET", "method": "PUT", "ttl": 1, "end": "SECRET"}}"#,
            "/data/end"
        ),
    ]

    @Test(arguments: responses) func `an error names the pointer and the response, without its values`(
        _ body: String, _ pointer: String
    ) throws {
        var format = TicketFormat(url: "/data/url")
        format.headers = "/data/headers"
        format.method = "/data/method"
        format.validFor = "/data/ttl"
        format.expiresAt = "/data/end"
        let response = UploadResponse(status: .ok, body: Array(body.utf8))
        let error = #expect(throws: UploadError.self) {
            try UploadTicket(response, format, requestedAt: .zero)
        }
        #expect(error?.code == .decodingFailed && error?.outcome == .notSent)
        #expect(error?.message.contains("(200 OK, \(body.utf8.count) bytes)") == true)
        #expect(error?.message.contains("\"\(pointer)\"") == true)
        #expect("\(error!) \(error!.debugDescription) \(error!.response!.text)".contains("SECRET") == false)
    }

    @Test func `a response that is not JSON is reported`() {
        let error = #expect(throws: UploadError.self) {
            try UploadTicket(
                UploadResponse(status: .ok, body: Array("<html>".utf8)), TicketFormat(), requestedAt: .zero)
        }
        #expect(error?.code == .decodingFailed && error?.message.contains("not JSON") == true)
    }

    @Test(arguments: [
        "1764144060", "1764144060000", "\"1764144060\"", "\"2025-11-26T08:01:00Z\"", "\"2025-11-26T08:01:00.000Z\"",
        "\"Wed, 26 Nov 2025 08:01:00 GMT\"", "\"2025-11-26T16:01:00+08:00\"",
    ]) func `a time of expiry is compared with the date of the response`(_ time: String) throws {
        var format = TicketFormat()
        format.expiresAt = "/end"
        format.marginSeconds = 10
        let response = UploadResponse(
            status: .ok, headers: [.date: "Wed, 26 Nov 2025 08:00:00 GMT"],
            body: Array(#"{"url": "https://s.example/", "end": \#(time)}"#.utf8))
        // The local clock is a year ahead.
        let ticket = try UploadTicket(
            response, format, requestedAt: .seconds(7), now: Date(timeIntervalSince1970: 1_795_680_000))
        #expect(ticket.deadline == .seconds(7 + 60 - 10))
    }

    @Test func `without a date the local clock is used`() throws {
        var format = TicketFormat()
        format.expiresAt = "/end"
        let response = UploadResponse(
            status: .ok, body: Array(#"{"url": "https://s.example/", "end": 1000}"#.utf8))
        let ticket = try UploadTicket(
            response, format, requestedAt: .zero, now: Date(timeIntervalSince1970: 900))
        #expect(ticket.deadline == .seconds(95))
    }

    @Test func `absurd validities are clamped`() throws {
        var format = TicketFormat()
        format.validFor = "/ttl"
        let response = UploadResponse(
            status: .ok, body: Array(#"{"url": "https://s.example/", "ttl": 1e300}"#.utf8))
        #expect(try UploadTicket(response, format, requestedAt: .zero).deadline == .seconds(1e9 - 5))
    }

    @Test(arguments: ["18446744073709551615", "9007199254740993", "-9223372036854775808", "1.5"])
    func `a number keeps its value`(_ number: String) throws {
        let response = UploadResponse(
            status: .ok, body: Array(#"{"url": "https://s.example/", "id": \#(number)}"#.utf8))
        #expect(try UploadTicket(response, TicketFormat(), requestedAt: .zero).value(at: "/id") == number)
    }

    @Test func `a number that can't be read exactly is reported`() throws {
        let response = UploadResponse(
            status: .ok, body: Array(#"{"url": "https://s.example/", "id": 18446744073709551616}"#.utf8))
        let ticket = try UploadTicket(response, TicketFormat(), requestedAt: .zero)
        let error = #expect(throws: UploadError.self) { try ticket.value(at: "/id") }
        #expect(error?.code == .decodingFailed && error?.message.contains("\"/id\"") == true)
    }

    private static let rejections: [(body: String, isExpiry: Bool)] = [
        (TicketServer.expired, true),
        ("\n<?xml version=\"1.0\"?><Error><Code>ExpiredToken</Code></Error>", true),
        (
            "<Error><Code>AuthenticationFailed</Code><AuthenticationErrorDetail>Signature not valid in the specified "
                + "time frame</AuthenticationErrorDetail></Error>", true
        ),
        (
            "<Error><Code>AuthenticationFailed</Code><AuthenticationErrorDetail>String to sign: /expired-7.jpg"
                + "</AuthenticationErrorDetail></Error>", false
        ),
        (signatureMismatch, false),
        (#"{"error": {"Message": "The policy has Expired."}}"#, true),
        (#"{"error": "expired token"}"#, true),
        (#"{"message": "Wrong signature.", "resource": "/expired-7.jpg"}"#, false),
        ("The URL has expired.", true),
        ("", false),
    ]

    /// The response of S3 to a wrong signature.
    private static let signatureMismatch =
        "<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match.</Message>"
        + "<SignatureProvided>\(TicketServer.secret)1</SignatureProvided>"
        + "<CanonicalRequest>PUT\n/expired-7.jpg\nX-Amz-Signature=\(TicketServer.secret)1</CanonicalRequest></Error>"

    @Test(arguments: rejections) func `only code and message of a rejection report an expiry`(
        _ body: String, _ isExpiry: Bool
    ) {
        let response = UploadResponse(status: .forbidden, body: Array(body.utf8))
        #expect(StoreRejection(response).reportsExpiry == isExpiry)
    }

    @Test func `the summary of a rejection has no signature`() {
        let response = UploadResponse(
            status: .forbidden,
            headers: [.location: "/?X-Amz-Signature=1", .retryAfter: "7", HTTPField.Name("x-amz-request-id")!: "R"],
            body: Array(Self.signatureMismatch.utf8))
        let summary = StoreRejection(response).summary
        #expect(
            summary.text
                == "<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match.</Message></Error>")
        #expect(summary.headers.map(\.value) == ["7", "R"] && summary.status == .forbidden)
        let other = StoreRejection(UploadResponse(status: .forbidden, body: Array(#"{"sig": "1"}"#.utf8))).summary
        #expect(other.body.isEmpty)
    }

    @Test func `fields make a form, and their order is fixed`() throws {
        var format = TicketFormat()
        format.fields = "/fields"
        format.headers = "/headers"
        let body = #"{"url": "https://s.example/b", "fields": {"policy": "p", "key": "k", "n": 1}, "headers": null}"#
        let ticket = try UploadTicket(
            UploadResponse(status: .ok, body: Array(body.utf8)), format, requestedAt: .zero)
        #expect(ticket.method == .post && ticket.headers.isEmpty && ticket.deadline == nil)
        #expect(ticket.fields?.map(\.name) == ["key", "n", "policy"])
        #expect("\(ticket)" == "POST https://s.example:443/<redacted>")
    }
}
