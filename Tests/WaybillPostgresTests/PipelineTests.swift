import TestSupport
import Testing

@testable import WaybillPostgres

@Suite(.timeLimit(.minutes(1))) struct PipelineTests {
    private let one = PostgresStatement("SELECT 1")
    private let two = PostgresStatement("SELECT 2")
    private let rows = PostgresRows(rows: [], tag: "SELECT 0")

    @Test func `a batch is sent whole, with one sync, before its first result`() throws {
        var pipeline = Pipeline(isPreparing: false)
        #expect(pipeline.add(.init(number: 1, statements: [one, two])) == nil)
        #expect(commands(&pipeline) == [.perform(one, name: nil), .perform(two, name: nil), .sync])
        #expect(try pipeline.receive(.rows(rows)) == nil)
        #expect(try pipeline.receive(.rows(rows)) == nil)
        let end = try #require(try pipeline.receive(.synced))
        #expect(try end.number == 1 && end.result.get().count == 2)
        #expect(pipeline.isEmpty)
    }

    @Test func `a statement is prepared once, and again for other types or on another connection`() throws {
        var pipeline = Pipeline(isPreparing: true)
        let statement = PostgresStatement("SELECT $1", .int8(1))
        _ = pipeline.add(.init(number: 1, statements: [statement, statement]))
        let first = commands(&pipeline)
        #expect(first.count == 4 && first[0] == .prepare(name: "waybill1", statement))
        for _ in 0..<3 { #expect(try pipeline.receive(.rows(rows)) == nil) }
        #expect(try pipeline.receive(.synced)?.number == 1)
        _ = pipeline.add(.init(number: 2, statements: [statement, PostgresStatement("SELECT $1", .text("a"))]))
        #expect(commands(&pipeline).map { if case .prepare = $0 { 1 } else { 0 } } == [0, 1, 0, 0])
        #expect(pipeline.reset().map(\.number) == [2])
        _ = pipeline.add(.init(number: 3, statements: [statement]))
        #expect(commands(&pipeline).count == 3)
    }

    @Test func `a batch does not use the preparation of another that may fail`() throws {
        var pipeline = Pipeline(isPreparing: true)
        let failing = PostgresStatement("SELECT 1/0")
        _ = pipeline.add(.init(number: 1, statements: [failing, one]))
        _ = pipeline.add(.init(number: 2, statements: [one]))
        let sent = commands(&pipeline)
        #expect(sent.suffix(3) == [.prepare(name: "waybill3", one), .perform(one, name: "waybill3"), .sync])
        _ = try pipeline.receive(.rows(rows))
        _ = try pipeline.receive(.failed(PostgresError(sqlState: "22012", message: "division by zero")))
        _ = try pipeline.receive(.aborted)
        _ = try pipeline.receive(.aborted)
        #expect(try pipeline.receive(.synced)?.number == 1)
        _ = try pipeline.receive(.rows(rows))
        _ = try pipeline.receive(.rows(rows))
        #expect(try #require(try pipeline.receive(.synced)).result.get().count == 1)
    }

    @Test func `an error of the commit fails the batch`() throws {
        var pipeline = Pipeline(isPreparing: false)
        _ = pipeline.add(.init(number: 1, statements: [one]))
        _ = commands(&pipeline)
        _ = try pipeline.receive(.rows(rows))
        _ = try pipeline.receive(.failed(PostgresError(sqlState: "40001", message: "serialization")))
        let end = try #require(try pipeline.receive(.synced))
        #expect(throws: PostgresError(sqlState: "40001", message: "serialization")) { try end.result.get() }
    }

    @Test func `other batches wait for a transaction to end`() throws {
        var pipeline = Pipeline(isPreparing: false)
        _ = pipeline.add(.init(number: 1, statements: [one], transaction: 7, place: .first))
        _ = pipeline.add(.init(number: 2, statements: [two]))
        #expect(commands(&pipeline).count == 2)
        #expect(pipeline.add(.init(number: 3, statements: [one], transaction: 7, place: .last)) == nil)
        #expect(commands(&pipeline) == [.perform(one, name: nil), .sync])
        for _ in 0..<2 {
            _ = try pipeline.receive(.rows(rows))
            _ = try pipeline.receive(.synced)
        }
        #expect(commands(&pipeline) == [.perform(two, name: nil), .sync])
    }

    @Test func `a lost connection fails what was sent and the open transaction, and nothing else`() {
        var pipeline = Pipeline(isPreparing: false)
        _ = pipeline.add(.init(number: 1, statements: [one]))
        _ = pipeline.add(.init(number: 2, statements: [one, two]))
        for _ in 0..<3 { _ = pipeline.next() }
        _ = pipeline.add(.init(number: 3, statements: [one]))
        let lost = pipeline.reset()
        #expect(lost.map(\.number) == [1, 2])
        #expect(lost.map(\.isOutcomeUnknown) == [true, false])
        #expect(commands(&pipeline).count == 2)

        _ = pipeline.reset()
        _ = pipeline.add(.init(number: 4, statements: [one], transaction: 4, place: .first))
        _ = commands(&pipeline)
        _ = pipeline.add(.init(number: 5, statements: [one], transaction: 4, place: .last))
        _ = pipeline.add(.init(number: 6, statements: [one]))
        #expect(pipeline.reset().map(\.number) == [4, 5])
        #expect(
            pipeline.add(.init(number: 7, statements: [one], transaction: 4, place: .middle))?.kind == .connectionLost)
        #expect(pipeline.removeWaiting() == [6])
    }

    @Test func `results that no statement asked for are an error`() {
        var pipeline = Pipeline(isPreparing: false)
        #expect(throws: Pipeline.Mismatch.self) { try pipeline.receive(.synced) }
        _ = pipeline.add(.init(number: 1, statements: [one]))
        _ = commands(&pipeline)
        #expect(throws: Pipeline.Mismatch.self) { try pipeline.receive(.synced) }
        var empty = Pipeline(isPreparing: false)
        _ = empty.add(.init(number: 1, statements: []))
        _ = commands(&empty)
        #expect(throws: Pipeline.Mismatch.self) { try empty.receive(.rows(rows)) }
    }

    @Test func `random batches end in their order with their own results`() throws {
        var random = SeededGenerator()
        for _ in 0..<50 {
            var pipeline = Pipeline(isPreparing: .random(using: &random))
            var server = ModelServer()
            var (next, ended) = (UInt64(1), [UInt64]())
            var expected: [UInt64: Int?] = [:]
            for _ in 0..<100 {
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    let sql = (0..<Int.random(in: 0..<4, using: &random)).map { _ in
                        ["SELECT 1", "SELECT 2", "bad"].randomElement(using: &random)!
                    }
                    _ = pipeline.add(.init(number: next, statements: sql.map { PostgresStatement($0) }))
                    expected[next] = sql.contains("bad") ? .some(nil) : sql.count
                    next += 1
                case 1: if let command = pipeline.next() { server.take(command) }
                default:
                    guard let result = server.give(), let end = try pipeline.receive(result) else { continue }
                    ended.append(end.number)
                    #expect(expected[end.number] == .some((try? end.result.get())?.count))
                }
            }
            while let command = pipeline.next() { server.take(command) }
            while let result = server.give() {
                if let end = try pipeline.receive(result) { ended.append(end.number) }
            }
            #expect(ended == Array(1..<next))
        }
    }

    private func commands(_ pipeline: inout Pipeline) -> [Pipeline.Command] {
        var commands: [Pipeline.Command] = []
        while let command = pipeline.next() { commands.append(command) }
        return commands
    }
}

/// The rules of the server for pipelines: after a failure, it skips everything until the next sync.
private struct ModelServer {
    private var results: [Pipeline.Received] = []
    private var isSkipping = false
    private var names: Set<String> = []

    mutating func take(_ command: Pipeline.Command) {
        switch command {
        case .sync:
            isSkipping = false
            results.append(.synced)
        case _ where isSkipping: results.append(.aborted)
        case .prepare(let name, _):
            names.insert(name)
            results.append(.rows(PostgresRows(rows: [], tag: "")))
        case .perform(let statement, let name):
            isSkipping = statement.sql == "bad" || name.map { !names.contains($0) } ?? false
            results.append(
                isSkipping
                    ? .failed(PostgresError(sqlState: "42601", message: "bad"))
                    : .rows(PostgresRows(rows: [], tag: "")))
        }
    }

    mutating func give() -> Pipeline.Received? { results.isEmpty ? nil : results.removeFirst() }
}
