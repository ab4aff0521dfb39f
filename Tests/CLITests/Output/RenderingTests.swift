import Testing
import Waybill

@testable import WaybillCLI

@Suite struct RenderingTests {
    static func progress(
        _ phase: UploadPhase = .sending, acknowledged: Int64 = 1_300_000, total: Int64? = 2_097_152,
        rate: Double = 1_153_434,
        attempt: Int = 1, name: String = "front"
    ) -> UploadProgress {
        UploadProgress(
            phase: phase, attempt: attempt, sent: acknowledged, acknowledged: acknowledged, total: total,
            bytesPerSecond: rate,
            parts: [
                PartProgress(name: "TOKEN", acknowledged: 10, total: 10),
                PartProgress(name: name, fileName: "a.jpg", acknowledged: acknowledged, total: 2_097_000),
            ])
    }

    @Test(arguments: [
        (120, "sending front  61 % [=================>          ]  1.2 of 2.0 MiB  1.1 MiB/s  ETA 0:01"),
        (80, "sending front  61 % [============>       ]  1.2 of 2.0 MiB  1.1 MiB/s  ETA 0:01"),
        (60, "sending front  61 %  1.2 of 2.0 MiB  1.1 MiB/s  ETA 0:01"),
        (50, "sending front  61 %  1.2 of 2.0 MiB  ETA 0:01"),
        (40, "sending front  61 %  1.2 of 2.0 MiB"),
        (24, "sending front  61 %"),
        (18, "sending front  6…"),
        (10, "sending …"),
    ]) func `a bar drops fields that do not fit`(_ columns: Int, _ line: String) {
        #expect(ProgressLine(Self.progress()).bar(columns: columns) == line)
    }

    @Test func `a bar is narrower than the terminal`() {
        for columns in 1...200 {
            for phase in UploadPhase.allCases {
                for name in ["f", "身份证正面身份证正面身份证正面", String(repeating: "long", count: 30), "\u{1B}[2J\u{202E}"] {
                    for attempt in [1, 12] {
                        let line = ProgressLine(Self.progress(phase, attempt: attempt, name: name)).bar(
                            columns: columns)
                        #expect(TerminalText.columns(of: line) <= max(columns - 1, 1), "\(columns): \(line)")
                    }
                }
            }
        }
    }

    @Test func `bars show phases, attempts and unknown lengths`() {
        #expect(ProgressLine(Self.progress(.connecting)).bar(columns: 80) == "connecting")
        #expect(
            ProgressLine(Self.progress(attempt: 2)).bar(columns: 80)
                == "sending front  61 % [=====>   ]  1.2 of 2.0 MiB  1.1 MiB/s  ETA 0:01  attempt 2")
        #expect(
            ProgressLine(Self.progress(total: nil, rate: 0)).bar(columns: 80) == "sending front  1.2 MiB")
        #expect(
            ProgressLine(Self.progress(.awaitingResponse, acknowledged: 2_097_152)).bar(columns: 80)
                == "waiting for the response  100 % [============================]  2.0 of 2.0 MiB")
    }

    @Test func `only a complete transfer is 100 percent`() {
        #expect(Figures.percentage(0.999_9) == 99)
        #expect(Figures.percentage(1) == 100)
    }

    @Test func `durations are formatted as clock times`() {
        #expect([0, 59, 60, 3_599, 3_723].map(Figures.clock) == ["0:00", "0:59", "1:00", "59:59", "1:02:03"])
    }

    @Test func `a plain line has the same figures`() {
        #expect(
            ProgressLine(Self.progress(attempt: 3)).plain
                == "sending front: 61 %, 1.2 of 2.0 MiB, 1.1 MiB/s, ETA 0:01, attempt 3")
        #expect(ProgressLine(Self.progress(acknowledged: 900, rate: 0)).plain == "sending front: 0 %, 900 B of 2.0 MiB")
    }

    @Test func `a JSON line begins with its version and keeps the member order`() {
        let line = JSONOutput.line("progress", JSONObject(Self.progress()), time: "T")
        #expect(
            line == """
                {"v":1,"t":"T","event":"progress","phase":"sending","attempt":1,"sent":1300000,"acknowledged":1300000,\
                "total":2097152,"accuracy":"exact","bytesPerSecond":1153434,"parts":[{"name":"TOKEN","fileName":null,\
                "acknowledged":10,"total":10},{"name":"front","fileName":"a.jpg","acknowledged":1300000,"total":2097000}]}

                """)
    }

    @Test func `control characters in JSON strings are escaped`() {
        #expect(
            JSONValue.string("a\"\\\n\u{1B}[2J\u{202E}\u{E0001}é").text == #""a\"\\\n\u001b[2J\u202e\udb40\udc01é""#)
        #expect(JSONValue.double(.infinity).text == "null")
        #expect(JSONValue.double(1.23456).text == "1.235")
    }

    @Test func `wide characters take two columns and combining marks none`() {
        #expect(TerminalText.columns(of: "a你🚀e\u{301}") == 6)
        #expect(TerminalText.fitted("你好世界", to: 6) == "你好…")
        #expect(TerminalText.fitted("abc", to: 3) == "abc")
    }

    @Test func `plain lines are paced by time, JSON lines also by changes`() {
        func due(_ pace: inout Pace, _ progress: [(UploadProgress, Int)]) -> [Bool] {
            progress.map { pace.isDue($0.0, at: .milliseconds($0.1)) }
        }
        let (sending, waiting, again) = (Self.progress(), Self.progress(.awaitingResponse), Self.progress(attempt: 2))
        var minute = Pace(every: .seconds(60), showsChanges: false, startingAt: .zero)
        let plain = due(&minute, [(sending, 59_000), (sending, 60_000), (waiting, 100_000), (sending, 121_000)])
        #expect(plain == [false, true, false, true])
        var second = Pace(every: .seconds(1), showsChanges: true, startingAt: nil)
        let json = due(&second, [(sending, 0), (sending, 900), (again, 950), (again, 1_900), (again, 1_950)])
        #expect(json == [true, false, true, false, true])
    }

    @Test func `durations are rounded for reading`() {
        #expect(Figures.seconds(.milliseconds(12)) == "0.012 s")
        #expect(Figures.seconds(.milliseconds(1_260)) == "1.2 s")
        #expect(Figures.seconds(.seconds(75)) == "75 s")
    }
}
