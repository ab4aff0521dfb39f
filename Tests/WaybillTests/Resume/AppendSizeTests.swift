import Testing
import WaybillCore

@testable import Waybill

@Suite struct AppendSizeTests {
    private static let total: Int64 = 1 << 40

    private func size(_ change: (inout ResumeOptions) -> Void = { _ in }) -> AppendSize {
        var options = ResumeOptions()
        change(&options)
        return AppendSize(options)
    }

    private func length(_ size: AppendSize, _ limits: ResumeLimits = ResumeLimits()) -> Int64? {
        size.length(at: 0, of: Self.total, limits: limits)
    }

    @Test func `fast appends double up to the maximum`() {
        var size = size()
        var lengths: [Int64] = []
        for _ in 0..<6 {
            let length = length(size) ?? 0
            lengths.append(length >> 20)
            size.succeeded(length: length, after: .seconds(1))
        }
        #expect(lengths == [4, 8, 16, 32, 64, 64])
    }

    @Test func `an append of about the target time keeps its length, and a slow one is halved`() {
        var size = size()
        size.succeeded(length: 4 << 20, after: .seconds(20))
        #expect(length(size) == 4 << 20)
        size.succeeded(length: 4 << 20, after: .seconds(40))
        #expect(length(size) == 2 << 20)
    }

    @Test func `after a loss, eight appends succeed before the length grows`() {
        var size = size()
        _ = size.reduce(below: 8 << 20, limits: ResumeLimits())
        var lengths: [Int64] = []
        for _ in 0..<9 {
            size.succeeded(length: 4 << 20, after: .seconds(1))
            lengths.append((length(size) ?? 0) >> 20)
        }
        #expect(lengths == [4, 4, 4, 4, 4, 4, 4, 8, 16])
    }

    @Test func `a length that was too large for a server is never reached again`() {
        var size = size()
        _ = size.reduce(below: 4 << 20, limits: ResumeLimits(), isLimit: true)
        for _ in 0..<50 { size.succeeded(length: 2 << 20, after: .seconds(1)) }
        #expect(length(size) == 2 << 20)
    }

    @Test func `the server's limits have precedence`() {
        #expect(length(size(), ResumeLimits(maximumAppend: 1_000)) == 1_000)
        #expect(length(size(), ResumeLimits(minimumAppend: 9 << 20)) == 9 << 20)
        #expect(length(size(), ResumeLimits(maximumAppend: 10, minimumAppend: 20)) == nil)
    }

    @Test func `the last append has the rest, and all others are multiples`() {
        let size = size { $0.appendMultiple = .bytes(1_000) }
        #expect(length(size) == 4_194_000)
        #expect(size.length(at: 5, of: 12, limits: ResumeLimits()) == 7)
        #expect(size.length(at: 12, of: 12, limits: ResumeLimits()) == 0)
    }

    @Test func `the length is not halved below a minimum`() {
        var size = size()
        let isReduced = size.reduce(below: 16_385, limits: ResumeLimits())
        let isReducedAgain = size.reduce(below: 16_384, limits: ResumeLimits())
        let isBelowLimit = size.reduce(below: 100_000, limits: ResumeLimits(minimumAppend: 100_000))
        #expect(isReduced && !isReducedAgain && !isBelowLimit)
    }
}
