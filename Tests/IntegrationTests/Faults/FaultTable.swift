import TestSupport
import Waybill

/// Every server fault at every place where it is possible.
///
/// The result follows from the transferred bytes: `incomplete` if much of the body cannot have been sent, `unknown`
/// if the kernel had all of it. The latter includes the case of one unread byte: the server's kernel has received
/// what its program has not read.
enum FaultTable {
    typealias Ending = FaultRow.Ending
    typealias Place = FaultRow.Place

    static let rows: [FaultRow] =
        connecting + ends + stalls + totals + earlyAnswers + answers + brokenAnswers + expectations + redirects

    /// Returns the outcome if there was no response.
    static func unanswered(_ place: Place) -> FaultRow.Kind {
        place == .before || place == .middle ? .incomplete : .unknown
    }

    /// Reads to the given place and then performs the steps.
    static func then(_ place: Place, _ steps: Behaviour.Step...) -> @Sendable (Int) -> [Behaviour] {
        { size in [Behaviour([.read(FaultRow.read(place, of: size))] + steps)] }
    }

    // MARK: Connection failures

    static let connecting: [FaultRow] = [
        FaultRow(
            name: "refused port", place: .before, target: .closedPort, endings: [.failure(.cannotConnect, .notSent)]),
        FaultRow(
            name: "port that swallows", place: .before, target: .blackHole, limit: .connect,
            endings: [.failure(.connectTimeout, .notSent)]),
        FaultRow(
            name: "name without address", place: .before, target: .absentName,
            endings: [.failure(.hostNotFound, .notSent)]),
        FaultRow(
            name: "silent name server", place: .before, target: .hangingName, limit: .connect,
            endings: [.failure(.connectTimeout, .notSent)]),
        // The RST may arrive before libcurl has examined the connection, before the first byte is sent, or later.
        FaultRow(
            name: "reset at accept", place: .before, arrival: .reset,
            endings: [
                .failure(.cannotConnect, .notSent), .failure(.connectionLost, .notSent),
                .failure(.connectionLost, .incomplete),
            ]),
        FaultRow(
            name: "closed at accept", place: .before, arrival: .finish,
            endings: ended(.connectionLost).union([.failure(.connectionLost, .notSent)])),
        FaultRow(
            name: "mute at accept", place: .before, arrival: .silent, limit: .stall,
            endings: [.failure(.stalled, .incomplete)]),
    ]

    // MARK: The connection ends

    static let ends: [FaultRow] = [Behaviour.Closing.reset, .abandon, .finish].flatMap { closing in
        Place.allCases.map { place in
            FaultRow(
                name: "connection ended by \(closing)", place: place, behaviours: then(place, .close(closing)),
                endings: closing == .finish ? ended(.connectionLost) : [.failure(.connectionLost, unanswered(place))])
        }
    }

    /// A FIN may be noticed in the middle of the body, or after all of it was sent to a server that discards it.
    private static func ended(_ codes: UploadError.Code...) -> Set<Ending> {
        Set(codes.flatMap { [.failure($0, .incomplete), .failure($0, .unknown)] })
    }

    // MARK: Stalls

    static let stalls: [FaultRow] = Place.allCases.map { place in
        let isOpen = place == .before || place == .middle
        return FaultRow(
            name: "stall", place: place, behaviours: then(place, .hold), limit: isOpen ? .stall : .response,
            endings: [.failure(isOpen ? .stalled : .responseTimeout, unanswered(place))])
    }

    static let totals: [FaultRow] = Place.allCases.map { place in
        FaultRow(
            name: "stall with a total limit", place: place, behaviours: then(place, .hold), limit: .total,
            endings: [.failure(.totalTimeout, unanswered(place))])
    }

    // MARK: Early responses

    static let earlyAnswers: [FaultRow] =
        [401, 413, 417, 429, 503].flatMap { status in
            [Place.before, .middle, .lastByte].map { place in
                FaultRow(
                    name: "early \(status)", place: place,
                    behaviours: then(
                        place, .send(ScriptedResponse(status, headers: [("Connection", "close")], text: "no")),
                        .close(.finish)),
                    endings: [.failure(.rejected, .rejected)])
            }
        }
        + [Place.before, .middle].flatMap { place in
            [
                FaultRow(
                    name: "early 413, then nothing", place: place,
                    behaviours: then(place, .send(ScriptedResponse(413, text: "no")), .hold),
                    endings: [.failure(.rejected, .rejected)]),
                FaultRow(
                    name: "early 500", place: place,
                    behaviours: then(
                        place, .send(ScriptedResponse(500, headers: [("Connection", "close")], text: "no")),
                        .close(.finish)),
                    endings: [.failure(.rejected, .rejected)]),
                // The RST may overtake the response (RFC 9112, section 9.6).
                FaultRow(
                    name: "early 413, then a crash", place: place,
                    behaviours: then(place, .send(ScriptedResponse(413, text: "no")), .close(.abandon)),
                    endings: [
                        .failure(.rejected, .rejected), .failure(.connectionLost, .incomplete),
                        .failure(.responseIncomplete, .incomplete),
                    ]),
                // A success status for part of the body is not a success, but the server may have processed it.
                FaultRow(
                    name: "early 200, then nothing", place: place,
                    behaviours: then(place, .send(ScriptedResponse(200, text: "yes")), .hold), limit: .stall,
                    endings: [.failure(.bodyNotTaken, .unknown), .failure(.stalled, .unknown)]),
                FaultRow(
                    name: "early 200, then a reset", place: place,
                    behaviours: then(place, .send(ScriptedResponse(200, text: "yes")), .close(.reset)),
                    endings: ended(.bodyNotTaken, .connectionLost, .responseIncomplete)),
                FaultRow(
                    name: "early garbage", place: place,
                    behaviours: then(place, .send(.raw("SSH-2.0-OpenSSH_9.2\r\n")), .close(.finish)),
                    endings: ended(.malformedResponse)),
                FaultRow(
                    name: "early head, cut", place: place,
                    behaviours: then(place, .send(.raw("HTTP/1.1 200 OK\r\nConte")), .close(.finish)),
                    endings: ended(.responseIncomplete, .connectionLost)),
            ]
        }

    // MARK: Rejections

    static let answers: [FaultRow] = [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504].map { status in
        let headers = status == 429 || status == 503 ? [("Retry-After", "3600")] : []
        return FaultRow(
            name: "\(status)", place: .after, behaviours: { _ in [.respond(status, headers: headers, body: "no")] },
            endings: [.failure(.rejected, [408, 500, 502, 504].contains(status) ? .unknown : .rejected)])
    }

    // MARK: Invalid responses

    private static func broken(
        _ name: String, _ behaviour: Behaviour, limit: FaultRow.Limit = .none, _ codes: UploadError.Code...
    ) -> FaultRow {
        FaultRow(
            name: name, place: .after, behaviours: { _ in [behaviour] }, limit: limit,
            endings: Set(codes.map { .failure($0, .unknown) }))
    }

    static let brokenAnswers: [FaultRow] = [
        broken("head cut by an end", .truncatedResponse("HTTP/1.1 200 OK\r\nConte"), .responseIncomplete),
        broken("head cut after a line", .truncatedResponse("HTTP/1.1 200 OK\r\n"), .responseIncomplete),
        // A RST may discard what was sent before it.
        broken(
            "head cut by a reset", .truncatedResponse("HTTP/1.1 200 OK\r\nConte", .reset), .responseIncomplete,
            .connectionLost),
        broken("body cut by an end", .truncatedResponseBody(announced: 100, sent: "half"), .responseIncomplete),
        broken(
            "body cut by a reset", .truncatedResponseBody(announced: 100, sent: "half", .reset), .responseIncomplete,
            .connectionLost),
        broken("garbage", .truncatedResponse("SSH-2.0-OpenSSH_9.2\r\n"), .malformedResponse),
        broken("impossible status", .truncatedResponse("HTTP/1.1 9999 Odd\r\n\r\n"), .malformedResponse),
        broken("endless head", .endlessHead, .responseTooLarge),
        broken("endless body", .endlessBody, .responseTooLarge),
        broken(
            "answer in drops",
            .drip(
                ScriptedResponse(200, text: String(repeating: "x", count: 100_000)), piece: 1, pause: .milliseconds(10)),
            limit: .response, .responseTimeout),
    ]

    // MARK: Expect: 100-continue

    static let expectations: [FaultRow] = [
        FaultRow(
            name: "100-continue ignored", place: .after, behaviours: { _ in [Behaviour.respond(200).ignoringExpect()] },
            expectContinue: .above(.kibibytes(1), wait: .milliseconds(50)), endings: [.success(200)]),
        FaultRow(
            name: "expectation refused with 413", place: .before, behaviours: { _ in [.rejectExpect(413)] },
            expectContinue: .above(.kibibytes(1), wait: .seconds(10)), endings: [.failure(.rejected, .rejected)]),
        FaultRow(
            name: "expectation refused with 417", place: .before,
            behaviours: { _ in [.rejectExpect(417), .respond(200)] },
            expectContinue: .above(.kibibytes(1), wait: .seconds(10)), endings: [.success(200)]),
        FaultRow(
            name: "silence after a question", place: .before, behaviours: then(.before, .hold), limit: .stall,
            expectContinue: .above(.kibibytes(1), wait: .milliseconds(50)),
            endings: [.failure(.stalled, .incomplete)]),
    ]

    // MARK: Invalid redirects

    private static func redirect(_ name: String, _ location: String?, _ code: UploadError.Code, status: Int = 307)
        -> FaultRow
    {
        let headers = location.map { [("Location", $0)] } ?? []
        return FaultRow(
            name: name, place: .after, behaviours: { _ in [.respond(status, headers: headers)] },
            endings: [.failure(code, .rejected)])
    }

    static let redirects: [FaultRow] = [
        redirect("redirect to itself", "/fault", .redirectLoop),
        redirect("redirect to a file", "file:///etc/passwd", .redirectRefused),
        redirect("redirect to another protocol", "ftp://127.0.0.1/", .redirectRefused),
        redirect("redirect to a broken URL", "http://[::1/", .redirectRefused),
        redirect("redirect to nowhere", nil, .redirectRefused),
        redirect("redirect that would drop the body", "/there", .redirectWouldDropBody, status: 302),
    ]
}
