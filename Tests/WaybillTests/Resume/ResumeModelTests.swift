import TestSupport
import Testing
import WaybillCore

@testable import Waybill

/// The state machine against a server with random faults.
@Suite struct ResumeModelTests {
    /// The result of an upload.
    struct Run {
        var server: ModelResumeServer
        var ending: ResumeStateMachine.Ending?
        var outcome = UploadOutcome.notSent
        var attempts = 0
    }

    /// Runs attempts until the application's response arrives, the upload fails, or nothing may be repeated.
    private static func run(
        _ dialect: ResumeDialect, _ random: inout SeededGenerator, faultRate: Double, attempts: Int = 60
    ) -> Run {
        let length = Int64.random(in: 0...3_000_000, using: &random)
        var options = ResumeOptions(dialect == .tus ? .tus : .draft)
        options.firstAppend = .kibibytes(Int64.random(in: 32...512, using: &random))
        if Bool.random(using: &random) { options.maximumAppend = options.firstAppend }
        options.appendMultiple = ByteCount(bytes: [1, 1_000, 262_144 as Int64].randomElement(using: &random)!)
        var run = Run(server: ModelResumeServer(dialect, length: length, faultRate: faultRate))
        run.server.replaysResponse = .random(using: &random)
        let isUnknown = Int.random(in: 0..<4, using: &random) == 0
        run.server.knowsLength = !isUnknown
        var machine = machine(options, isUnknown ? nil : length, nil)
        if dialect == .draft6 { machine.support.usesDraft6 = true }
        var savedRecord: ResumeRecord?
        // A slow disk: records that are not written yet. Only a machine that waits for them has to go on.
        var pending: [ResumeRecord] = []
        while run.attempts < attempts {
            run.attempts += 1
            var queue = machine.handle(.begin)
            while !queue.isEmpty {
                switch queue.removeFirst() {
                case .send(let exchange): queue += machine.handle(run.server.handle(exchange, &random))
                case .wait: queue += machine.handle(.waited)
                case .read(let range):
                    let end = min(range.upperBound, length)
                    queue += machine.handle(.available(end, isEnd: end < range.upperBound))
                case .save(let record):
                    pending.append(record)
                    guard machine.step == .saving || Int.random(in: 0..<4, using: &random) == 0 else { break }
                    for record in pending {
                        savedRecord = record
                        queue += machine.handle(.saved(record))
                    }
                    pending = []
                case .forget: (savedRecord, pending) = (nil, [])
                case .finish(let ending): run.ending = ending
                case .stored, .abandon, .hold: break
                }
            }
            run.outcome = machine.outcome
            if case .last(true) = run.ending { return run }
            if case .failed = run.ending { return run }
            guard machine.isRepeatable == true else { return run }
            // Sometimes another process continues from the record, which a stream does not have.
            if !isUnknown, Int.random(in: 0..<4, using: &random) == 0 {
                pending = []
                machine = Self.machine(options, length, savedRecord)
            }
            if dialect == .draft6 { machine.support.usesDraft6 = true }
        }
        return run
    }

    private static func machine(
        _ options: ResumeOptions, _ length: Int64?, _ record: ResumeRecord?
    ) -> ResumeStateMachine {
        ResumeStateMachine(
            options, length: length, target: "https://a.example/files", isForm: false, support: ResumeSupport(),
            record: record)
    }

    @Test(arguments: [ResumeDialect.draft8, .draft6, .tus])
    func `whatever is lost, the application runs at most once`(_ dialect: ResumeDialect) {
        var random = SeededGenerator()
        for number in 0..<3_000 {
            let faultRate = [0, 0.05, 0.2, 0.5].randomElement(using: &random)!
            let run = Self.run(dialect, &random, faultRate: faultRate)
            #expect(run.server.violation == nil, "run \(number), seed \(random.seed)")
            #expect(run.server.runs <= 1, "run \(number), seed \(random.seed)")
            switch (run.ending, run.outcome) {
            case (.last(true), _): #expect(run.server.runs == 1, "run \(number), seed \(random.seed)")
            case (_, .processed): #expect(run.server.runs == 1, "run \(number), seed \(random.seed)")
            case (_, .notSent), (_, .incomplete), (_, .rejected):
                #expect(run.server.runs == 0, "run \(number), seed \(random.seed)")
            case (_, .unknown): break
            }
        }
    }

    @Test(arguments: [ResumeDialect.draft8, .draft6, .tus])
    func `without faults, every byte is sent once and the response arrives`(_ dialect: ResumeDialect) {
        var random = SeededGenerator()
        for number in 0..<300 {
            let run = Self.run(dialect, &random, faultRate: 0)
            #expect(run.ending == .last(isFinal: true), "run \(number), seed \(random.seed)")
            #expect(run.server.received == run.server.length, "run \(number), seed \(random.seed)")
            #expect(run.attempts == 1)
        }
    }

    @Test(arguments: [ResumeDialect.draft8, .tus])
    func `lengths beyond 4 GiB and beyond 53 bits are exact`(_ dialect: ResumeDialect) {
        for length in [1 << 32 + 1, 1 << 53 + 1, Int64.max - 1] as [Int64] {
            var random = SeededGenerator()
            var options = ResumeOptions(dialect == .tus ? .tus : .draft)
            options.firstAppend = ByteCount(bytes: length / 3)
            options.maximumAppend = ByteCount(bytes: length / 3)
            options.appendMultiple = .bytes(1)
            var server = ModelResumeServer(dialect, length: length, faultRate: 0)
            var machine = Self.machine(options, length, nil)
            var queue = machine.handle(.begin)
            var ranges: [Range<Int64>] = []
            while !queue.isEmpty {
                switch queue.removeFirst() {
                case .send(let exchange):
                    if let range = exchange.range, !range.isEmpty { ranges.append(range) }
                    queue += machine.handle(server.handle(exchange, &random))
                case .save(let record): queue += machine.handle(.saved(record))
                default: break
                }
            }
            #expect(server.received == length && server.runs == 1 && server.violation == nil)
            #expect(ranges.first?.lowerBound == 0 && ranges.last?.upperBound == length)
        }
    }

    @Test(
        arguments: [
            ("http://a.example/u/1", nil), ("/u/1", "https://a.example/u/1"), ("u/1", "https://a.example/u/1"),
            ("//b.example/u", "https://b.example/u"), ("https://b.example/u?t=1", "https://b.example/u?t=1"),
            ("https://me:pw@a.example/u#x", "https://a.example/u"), ("", nil), ("https:///", nil), ("ftp://a/u", nil),
        ] as [(String, String?)])
    func `a Location is a URL that is not less secure`(_ location: String, _ url: String?) {
        let machine = Self.machine(ResumeOptions(.draft), 1, nil)
        #expect(machine.resolved(location, against: "https://a.example/files") == url)
    }

    @Test func `rare faults do not prevent the end`() {
        var random = SeededGenerator()
        for number in 0..<300 {
            var run = Self.run(.tus, &random, faultRate: 0.05)
            #expect(run.ending == .last(isFinal: true), "run \(number), seed \(random.seed)")
            run = Self.run(.draft8, &random, faultRate: 0.05)
            let isKnown = run.ending == .last(isFinal: true) || run.outcome == .processed
            #expect(isKnown, "run \(number), seed \(random.seed)")
        }
    }
}
