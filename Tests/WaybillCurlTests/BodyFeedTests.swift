import Testing
import WaybillCore

@testable import WaybillCurl

@Suite struct BodyFeedTests {
    @Test func `the bytes of a body are read in order with any buffer size`() throws {
        for bufferSize in [1, 3, 64] {
            var feed = try BodyFeed(ScriptedBody(length: 6, [.bytes([1, 2]), .later, .bytes([3, 4, 5, 6])])) {}
            #expect(try drain(&feed, bufferSize: bufferSize) == [1, 2, 3, 4, 5, 6])
            #expect(feed.bytesRead == 6)
            #expect(feed.failure == nil)
        }
    }

    @Test func `a reader without data pauses the transfer`() throws {
        var feed = try BodyFeed(ScriptedBody(length: 1, [.later, .bytes([9])])) {}
        #expect(fill(&feed, bufferSize: 8).result == .pause)
        #expect(feed.isWaiting)
        #expect(fill(&feed, bufferSize: 8).result == .bytes(1))
        #expect(!feed.isWaiting)
    }

    @Test func `a body shorter than announced aborts the transfer`() throws {
        var feed = try BodyFeed(ScriptedBody(length: 5, [.bytes([1, 2, 3])])) {}
        #expect(fill(&feed, bufferSize: 8).result == .bytes(3))
        #expect(fill(&feed, bufferSize: 8).result == .abort)
        #expect((feed.failure as? BodyLengthError)?.isLonger == false)
    }

    @Test func `a body longer than announced aborts before its last announced byte`() throws {
        // In one chunk, and with the surplus in a separate read.
        for script: [ScriptedBody.Step] in [[.bytes([1, 2, 3, 4, 5, 6])], [.bytes([1, 2, 3, 4, 5]), .bytes([6])]] {
            var feed = try BodyFeed(ScriptedBody(length: 5, script)) {}
            #expect(fill(&feed, bufferSize: 64).result == .abort)
            #expect((feed.failure as? BodyLengthError)?.isLonger == true)
        }
    }

    @Test func `an error of a reader aborts and is kept`() throws {
        struct Broken: Error {}
        var feed = try BodyFeed(ScriptedBody(length: 5, [.bytes([1]), .fail(Broken())])) {}
        #expect(fill(&feed, bufferSize: 64).result == .bytes(1))
        #expect(fill(&feed, bufferSize: 64).result == .abort)
        #expect(feed.failure is Broken)
    }

    @Test func `a reader that appends nothing aborts`() throws {
        var feed = try BodyFeed(ScriptedBody(length: 5, [.bytes([])])) {}
        #expect(fill(&feed, bufferSize: 64).result == .abort)
        #expect(feed.failure is EmptyReadError)
    }

    @Test func `a body of unknown length ends where its reader ends`() throws {
        var feed = try BodyFeed(ScriptedBody(length: nil, [.bytes([1]), .bytes([2, 3])])) {}
        #expect(try drain(&feed, bufferSize: 64) == [1, 2, 3])
        #expect(feed.isAtEnd)
    }

    private func fill(_ feed: inout BodyFeed, bufferSize: Int) -> (result: BodyFeed.ReadResult, bytes: [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: bufferSize)
        let result = unsafe buffer.withUnsafeMutableBytes { unsafe feed.fill($0) }
        guard case .bytes(let count) = result else { return (result, []) }
        return (result, Array(buffer[..<count]))
    }

    private func drain(_ feed: inout BodyFeed, bufferSize: Int) throws -> [UInt8] {
        var all: [UInt8] = []
        for _ in 0..<1_000 {
            let (result, bytes) = fill(&feed, bufferSize: bufferSize)
            if result == .bytes(0) { return all }
            try #require(result != .abort)
            all += bytes
        }
        throw BodyLengthError(promised: -1, isLonger: true)
    }
}

/// A body that plays a script: a minimal third-party body.
struct ScriptedBody: UploadBody {
    enum Step: Sendable {
        case bytes([UInt8])
        case later
        case fail(any Error)
    }

    let length: Int64?
    let isReplayable = true
    private let steps: [Step]

    init(length: Int64?, _ steps: [Step]) {
        self.length = length
        self.steps = steps
    }

    func makeReader(wake: @escaping @Sendable () -> Void) -> any BodyReader {
        Reader(steps)
    }

    private final class Reader: BodyReader {
        private var steps: [Step]

        init(_ steps: [Step]) { self.steps = steps }

        func read(into output: inout OutputRawSpan) throws -> BodyRead {
            guard let step = steps.first else { return .end }
            switch step {
            case .later:
                steps.removeFirst()
                return .later
            case .fail(let error):
                throw error
            case .bytes(let bytes):
                let count = min(bytes.count, output.freeCapacity)
                for byte in bytes[..<count] { output.append(byte) }
                if count == bytes.count { steps.removeFirst() } else { steps[0] = .bytes(Array(bytes[count...])) }
                return .bytes(count)
            }
        }

        func close() {}
    }
}
