import TestSupport
import Testing
import Waybill

/// Faults of TLS, and faults behind it.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct TLSFaultTests {
    /// Checks a row with a new TLS front.
    private func check(
        _ row: FaultRow, _ shape: Shape, showing leaf: Certificates.Leaf = .valid,
        speaking version: TLSFront.Version = .modern
    ) async throws {
        let driver = FaultDriver(row: row, shape: shape) { server in
            let front = try await TLSFront(to: server, showing: leaf, speaking: version)
            let authority = front.authority
            return FaultDriver.Route(
                url: front.url("/fault"), configure: { $0.tls.certificateAuthorities = authority }, holder: front,
                isDirect: false)
        }
        try await driver.check()
    }

    /// Checks a row with TLS to the server itself, which does not support TLS.
    private func checkBare(_ row: FaultRow, _ shape: Shape) async throws {
        let driver = FaultDriver(row: row, shape: shape) { server in
            FaultDriver.Route(url: "https://127.0.0.1:\(server.port)/fault", isDirect: false)
        }
        try await driver.check()
    }

    private func refused(_ name: String, _ codes: UploadError.Code...) -> FaultRow {
        FaultRow(
            name: name, place: .before, behaviours: { _ in [.respond(200)] },
            endings: Set(codes.map { .failure($0, .notSent) }))
    }

    @Test(arguments: [Certificates.Leaf.unknownAuthority, .wrongName, .expired], Shape.allCases)
    func `an untrusted certificate fails before any byte is sent`(leaf: Certificates.Leaf, shape: Shape)
        async throws
    {
        try await check(refused("certificate \(leaf)", .certificateNotTrusted), shape, showing: leaf)
    }

    @Test(arguments: Shape.allCases) func `TLS 1_0 is refused`(shape: Shape) async throws {
        try await check(refused("TLS 1.0 only", .tlsFailed), shape, speaking: .onlyTLS10)
    }

    @Test(arguments: Shape.allCases) func `a reset during the handshake is reported`(shape: Shape) async throws {
        var row = refused("reset in the handshake", .tlsFailed, .connectionLost)
        row.behaviours = { _ in [.closeDuringRequest(.reset)] }
        try await checkBare(row, shape)
    }

    @Test(arguments: Shape.allCases) func `a server without TLS is reported`(shape: Shape) async throws {
        var row = refused("plain text for TLS", .tlsFailed)
        row.behaviours = { _ in
            var behaviour = Behaviour([.send(.raw("HTTP/1.1 400 Bad Request\r\n\r\n")), .close(.finish)])
            behaviour.startsBeforeHead = true
            return [behaviour]
        }
        try await checkBare(row, shape)
    }

    @Test(arguments: Shape.allCases) func `a silent port ends at the connect timeout`(shape: Shape) async throws {
        let row = FaultRow(
            name: "mute for TLS", place: .before, arrival: .silent, limit: .connect,
            endings: [.failure(.connectTimeout, .notSent)])
        try await checkBare(row, shape)
    }

    /// The faults of a plain connection, with TLS in between. Whether the end of a connection appears as a RST, as a
    /// FIN or as a truncated response depends on the front. The outcome must still be consistent with the bytes.
    static let rows: [FaultRow] = {
        let plain =
            FaultTable.ends + FaultTable.stalls + FaultTable.totals + FaultTable.brokenAnswers
            + FaultTable.answers.filter { ["413", "503"].contains($0.name) }
            + FaultTable.earlyAnswers.filter { $0.name == "early 413" }
        return plain.map { row in
            let breaks: [UploadError.Code] = [.connectionLost, .responseIncomplete]
            let mayVary = row.endings.contains { ending in
                if case .failure(let code, _) = ending { breaks.contains(code) } else { false }
            }
            guard mayVary else { return row }
            let endings = breaks.flatMap { [FaultRow.Ending.failure($0, .incomplete), .failure($0, .unknown)] }
            return FaultRow(
                name: row.name, place: row.place, behaviours: row.behaviours, limit: row.limit,
                endings: row.endings.union(endings))
        }
    }()

    @Test(arguments: rows, Shape.allCases)
    func `a fault behind TLS ends as the table states`(row: FaultRow, shape: Shape) async throws {
        try await check(row, shape)
    }
}
