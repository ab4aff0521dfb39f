import FoundationEssentials
import TestSupport
import Testing
import WaybillCore

@testable import WaybillCurl

@Suite struct ResponseOracleTests {
    private static let seed = SeededGenerator().seed

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `random responses yield the results of the second implementation`(shard: UInt64) {
        let seed = Self.seed &+ shard
        var grammar = ResponseGrammar(seed: seed)
        var counts: [String: Int] = [:]
        for index in 0..<5_000 {
            let (response, options) = grammar.next()
            let whole = ResponseRecord(response, options)
            counts[kind(whole), default: 0] += 1
            let cut = index % 4 == 0 ? grammar.cut(response) : 0
            let halves = cut > 0 ? ResponseRecord(response, cutAt: [cut], options) : whole
            let expected = NaiveResponse.record(of: response, options)
            guard whole == expected, halves == whole else {
                Issue.record(
                    """
                    WAYBILL_SEED=\(Self.seed), response \(index) of \(shard): \(text(response)), \(options)
                    \(whole)
                    cut at \(cut): \(halves)
                    the oracle: \(expected)
                    """)
                return
            }
        }
        let required = ["reuse", "no reuse", "excess", "at end", "truncated"] + kinds.map { "\($0)" }
        for kind in required { #expect(counts[kind, default: 0] > 0, "WAYBILL_SEED=\(Self.seed): \(counts)") }
    }

    @Test func `random responses violate no property of the fuzzer`() {
        var grammar = ResponseGrammar(seed: Self.seed)
        for _ in 0..<500 {
            let (response, options) = grammar.next()
            let broken = violation(of: response, cutAt: [grammar.cut(response)], options)
            #expect(broken == nil, "WAYBILL_SEED=\(Self.seed), \(text(response)), \(options)")
        }
    }

    @Test func `every input of the fuzzer's corpus satisfies the properties`() throws {
        let folder = ProjectRoot.file("Fuzz/Corpus/response")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(names.count >= 10)
        for name in names {
            let input = ResponseFuzzInput(try readFile("\(folder)/\(name)"))
            #expect(violation(of: input.response, cutAt: input.cuts, input.options) == nil, "\(name)")
        }
    }

    /// The failures that short responses can cause.
    private let kinds: [ResponseAssembler.Failure] = [
        .headTooLarge, .tooManyHeaderLines, .bodyTooLarge, .malformedStatusLine, .malformedContentLength, .notHTTP,
        .malformedFraming, .malformedChunk,
    ]

    private func kind(_ record: ResponseRecord) -> String {
        if let failure = record.failure { return "\(failure)" }
        guard record.isComplete else { return record.isCompleteAtEnd ? "at end" : "truncated" }
        return record.hasExcess ? "excess" : record.allowsReuse ? "reuse" : "no reuse"
    }

    private func text(_ response: [UInt8]) -> String { String(reflecting: String(decoding: response, as: UTF8.self)) }
}
