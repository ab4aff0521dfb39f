import FoundationEssentials
import Testing
import Waybill

@testable import WaybillCLI
@testable import WaybillOutbox

@Suite struct OutboxRenderingTests {
    private static func item(
        _ state: OutboxState, reason: String? = nil, isDoubtful: Bool = false, due: Int64? = nil
    ) -> OutboxItem {
        OutboxItem(
            id: OutboxID(rawValue: 17), kind: "form", lane: "backend.example:443", state: state, reason: reason,
            attempts: 3, isDoubtful: isDoubtful, batch: "today", tags: ["a"], priorityNumber: 5, deduplicationKey: nil,
            idempotencyKey: "key", size: 319_898, createdAt: 1_000_000, endedAt: nil, dueAt: due)
    }

    private static func progress(done: Int, failed: Int, left: Int, bytesDone: Int64, bytesTotal: Int64)
        -> OutboxProgress
    {
        var tally = OutboxTally()
        tally.counts = [.done: done, .failed: failed, .ready: left]
        return OutboxProgress(
            tally: tally,
            running: [
                RunningItem(
                    id: OutboxID(rawValue: 1), attempt: 1, isVerifying: false, acknowledged: 1, total: 2,
                    bytesPerSecond: 1)
            ], bytesDone: bytesDone, bytesTotal: bytesTotal, bytesPerSecond: 1_048_576, timeLeft: .seconds(12),
            blockedLanes: left > 30 ? ["x": "status401"] : [:])
    }

    @Test func `an item is a table row`() {
        let table = OutboxTable(columns: nil, now: 1_300_000)
        #expect(
            table.line(Self.item(.waiting, reason: "status503", due: 1_312_000))
                == "    17  waiting         3   312.4 KiB    5 min  backend.example:443  status503, again in 12 s  [today]  #a\n"
        )
        #expect(
            table.line(Self.item(.failed, reason: "outcomeUnknown", isDoubtful: true))
                == "    17  failed?         3   312.4 KiB    5 min  backend.example:443  outcomeUnknown  [today]  #a\n")
        #expect(
            OutboxTable(columns: 40, now: 1_300_000).line(Self.item(.ready))
                == "    17  ready           3   312.4 KiB  …\n")
        var pinned = Self.item(.ready)
        pinned.host = "till-4"
        #expect(table.line(pinned).hasSuffix("backend.example:443  only on till-4  [today]  #a\n"))
        #expect(table.head == "    ID  STATE       TRIES        SIZE      AGE  TO\n")
    }

    @Test func `the members of an item's JSON object keep their order`() {
        let item = Self.item(.waiting, reason: "status503", due: 1_312_000)
        #expect(
            JSONOutput.line("item", JSONObject(item), time: "T") == """
                {"v":1,"t":"T","event":"item","id":17,"state":"waiting","reason":"status503","doubtful":false,"attempts":3,\
                "kind":"form","lane":"backend.example:443","batch":"today","tags":["a"],"priority":"normal","deduplicationKey":null,\
                "idempotencyKey":"key","size":319898,"createdAt":"1970-01-01T00:16:40Z","endedAt":null,\
                "dueAt":"1970-01-01T00:21:52Z","host":null}

                """)
    }

    @Test(arguments: [
        ("status422", "17: failed, status422, 3 attempts: no such card"),
        ("deadlinePassed", "17: failed, deadlinePassed, 3 attempts (last attempt: no such card)"),
    ])
    func `the message of the last attempt is not the reason for a later failure`(reason: String, line: String) {
        let result = OutboxResult(
            sequence: 1, item: Self.item(.failed, reason: reason), status: nil, headers: [], body: Data(),
            message: "no such card", sourceChangedAfterwards: false)
        #expect(OutboxText.line(result) == line)
    }

    @Test func `the bar counts only what ended after the watching began`() {
        var base = OutboxTally()
        base.counts = [.done: 10]
        base.bytes = [.done: 1_000]
        let progress = Self.progress(done: 13, failed: 1, left: 6, bytesDone: 2_098_152, bytesTotal: 8_389_608)
        #expect(
            ProgressLine(progress, since: base).bar(columns: 100)
                == "4 of 10 items  25 % [=======>                    ]  2.0 of 8.0 MiB  1.0 MiB/s  ETA 0:12")
        #expect(ProgressLine(progress, since: base).plain == "4 of 10 items: 25 %, 2.0 of 8.0 MiB, 1.0 MiB/s, ETA 0:12")
        let blocked = Self.progress(done: 0, failed: 0, left: 40, bytesDone: 0, bytesTotal: 0)
        #expect(ProgressLine(blocked, since: OutboxTally()).plain.hasSuffix("1 blocked"))
        for columns in 1...160 {
            #expect(
                TerminalText.columns(of: ProgressLine(progress, since: base).bar(columns: columns))
                    <= max(columns - 1, 1))
        }
    }

    @Test func `the count is not negative when failed items are sent again`() {
        var base = OutboxTally()
        base.counts = [.failed: 5]
        let line = ProgressLine(Self.progress(done: 0, failed: 2, left: 3, bytesDone: 0, bytesTotal: 0), since: base)
            .plain
        #expect(line.hasPrefix("0 of 3 items"), "\(line)")
    }

    static let ends: [(OutboxItem, Exit)] = [
        (item(.done), .done), (item(.cancelled), .done), (item(.cancelled, isDoubtful: true), .unknown),
        (item(.failed, reason: "outcomeUnknown", isDoubtful: true), .unknown),
        (item(.failed, reason: "status404"), .rejected),
        (item(.failed, reason: "status503"), .transient), (item(.failed, reason: "status429"), .transient),
        (item(.failed, reason: "deadlinePassed"), .transient), (item(.failed, reason: "connectionLost"), .transient),
        (item(.failed, reason: "fileNotFound"), .source), (item(.failed, reason: "sourceChanged"), .sourceChanged),
        (item(.failed, reason: "unknownKind"), .fatal), (item(.failed, reason: "invalidURL"), .rejected),
        (item(.failed, reason: "redirectLoop"), .rejected), (item(.failed, reason: "envelopeRejected"), .rejected),
        (item(.paused), .queued), (item(.ready), .queued),
    ]

    @Test func `each item end has its exit status, and the most severe one counts`() {
        for (item, exit) in Self.ends { #expect(Exit(item) == exit, "\(item.state) \(item.reason ?? "")") }
        let order: [Exit] = [.done, .queued, .source, .sourceChanged, .transient, .rejected, .unknown, .fatal]
        for (index, one) in order.enumerated() {
            for other in order[...index] { #expect(one.worse(other) == one && other.worse(one) == one) }
        }
        #expect(Exit(OutboxError(.ownedByAnother, "")) == .queued && Exit(OutboxError(.diskFull, "")) == .fatal)
    }

    @Test func `durations require units, and the outbox path follows the environment`() throws {
        let times = ["90": 90, "90s": 90, "15m": 900, "12h": 43_200, "7d": 604_800, "2w": 1_209_600]
        for (text, seconds) in times { #expect(try DurationArgument.read(text, for: "x") == .seconds(seconds)) }
        for text in ["", "d", "0", "-1", "1.5h", "7 d", "9999999999999999999", "1000000w"] {
            #expect(throws: CommandFailure.self) { try DurationArgument.read(text, for: "x") }
        }
        let all = ["WAYBILL_OUTBOX": "/w", "XDG_STATE_HOME": "/x", "HOME": "/h"]
        func place(_ named: String?, without names: String...) throws -> String {
            try OutboxLocation.path(named) { names.contains($0) ? nil : all[$0] }
        }
        #expect(try place("n") == "n" && place(nil) == "/w")
        #expect(try place(nil, without: "WAYBILL_OUTBOX") == "/x/waybill/outbox")
        #expect(try place(nil, without: "WAYBILL_OUTBOX", "XDG_STATE_HOME") == "/h/.local/state/waybill/outbox")
        #expect(throws: CommandFailure.self) { try place(nil, without: "WAYBILL_OUTBOX", "XDG_STATE_HOME", "HOME") }
        #expect(
            try OutboxLocation.path(nil) { ["XDG_STATE_HOME": "relative", "HOME": "/h"][$0] }
                == "/h/.local/state/waybill/outbox")
    }

    @Test func `ages are rounded down to the largest unit`() {
        let spans = [-5, 59_000, 61_000, 7_200_000, 172_800_000].map { OutboxTime.span($0) }
        #expect(spans == ["0 s", "59 s", "1 min", "2 h", "2 d"])
        #expect(OutboxTime.text(1_700_000_000_999) == "2023-11-14T22:13:20Z")
    }

    @Test func `credential names map to variables, and malformed names and sources are refused`() async throws {
        #expect(CredentialName.variable(of: "front-desk.2") == "WAYBILL_CREDENTIAL_FRONT_DESK_2")
        for name in ["", "a b", "a/b", String(repeating: "x", count: 65)] {
            #expect(throws: CommandFailure.self) { try CredentialName.checked(name, for: "x") }
        }
        for text in ["a", "a=", "a=b", "a=env:", "=env:B", "a=@"] {
            #expect(throws: CommandFailure.self) { try OutboxCredentials([text], console: .standard) }
        }
    }
}
