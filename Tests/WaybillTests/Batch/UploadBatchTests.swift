import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(3 * Slowness.factor))) struct UploadBatchTests {
    private struct Refused: Error {}

    private func request(_ number: Int, bytes: Int = 100) -> UploadRequest {
        UploadRequest(
            .put, "http://backend.example/\(number)", content: .data([UInt8](repeating: 7, count: bytes)))
    }

    private func number(_ request: TransferRequest) -> Int {
        Int(request.url.split(separator: "/").last ?? "") ?? -1
    }

    @Test func `every item ends once, with its own response`() async throws {
        let world = SessionWorld(
            ScriptedTransport { request, _ in
                request.url.hasSuffix("3") ? .responding(.notFound) : .responding(.ok, body: request.url)
            })
        let batch = world.session.startBatch(of: 0..<40) { request($0) }
        var seen: [Int: Int] = [:]
        for await result in batch.results {
            seen[result.item, default: 0] += 1
            #expect(result.index == result.item)
            if result.item % 10 == 3 {
                #expect(throws: UploadError.self) { try result.response }
            } else {
                #expect(try result.response.text == "http://backend.example/\(result.item)")
            }
        }
        #expect(seen.count == 40 && seen.values.allSatisfy { $0 == 1 })
        let summary = await batch.summary
        #expect(summary.succeeded == 36 && summary.failed == 4 && summary.cancelled == 0 && summary.isComplete)
        #expect(!summary.isSuccess && summary.acknowledged == 4_000)
        #expect(summary.failures.map(\.index).sorted() == [3, 13, 23, 33])
        #expect("\(summary)" == "36 succeeded, 4 failed, 0 cancelled")
    }

    @Test func `a lazy source is read only as far as the window needs`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .wait(gate), .receiveRest, .respond(.ok)]], slots: 2, slotsPerHost: 2)
        let asked = Watched(0)
        let numbers = (0..<200).lazy.map { number in
            asked.update { $0 += 1 }
            return number
        }
        let batch = world.session.startBatch(of: AnySequence(numbers)) { request($0) }
        await gate.arrivals(atLeast: 2)
        try await asked.waitUntil { $0 == 6 }
        #expect(batch.executing.count <= 6)
        #expect(asked.value == 6)
        gate.open()
        #expect(await batch.summary.succeeded == 200)
    }

    @Test func `a slow reader applies backpressure and loses no result`() async throws {
        let world = SessionWorld([.responding(.ok)])
        var options = UploadBatchOptions()
        options.window = 3
        options.unreadResults = 5
        let started = Watched(0)
        let batch = world.session.startBatch(of: 0..<200, options: options) { number in
            started.update { $0 += 1 }
            return request(number)
        }
        var read = 0
        for await _ in batch.results {
            read += 1
            #expect(started.value <= read + 5 + 3)
            await Task.yield()
        }
        #expect(read == 200)
    }

    @Test func `a batch without a reader ends, and a late reader gets the newest results`() async throws {
        let world = SessionWorld([.responding(.ok)])
        var options = UploadBatchOptions()
        options.unreadResults = 10
        let batch = world.session.startBatch(of: 0..<100, options: options) { request($0) }
        #expect(await batch.summary.isSuccess)
        var late = 0
        for await _ in batch.results { late += 1 }
        #expect(late == 10)
    }

    @Test func `a batch continues after its reader stops`() async throws {
        let world = SessionWorld([.responding(.ok)])
        var options = UploadBatchOptions()
        options.unreadResults = 1
        let batch = world.session.startBatch(of: 0..<50, options: options) { request($0) }
        for await _ in batch.results { break }
        #expect(await batch.summary.succeeded == 50)
    }

    @Test func `cancelling one item does not affect the others`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .acknowledgeHead, .wait(gate), .receiveRest, .respond(.ok)]])
        let batch = world.session.startBatch(of: 0..<5) { request($0) }
        await gate.arrivals(atLeast: 5)
        batch.cancel(at: 2)
        var results = batch.results.makeAsyncIterator()
        let first = try #require(await results.next())
        #expect(first.index == 2)
        #expect(throws: UploadError.self) { try first.response }
        gate.open()
        while let result = await results.next() { #expect(try result.response.status == .ok) }
        let summary = await batch.summary
        #expect(summary.succeeded == 4 && summary.cancelled == 1 && summary.failed == 0)
    }

    @Test func `an item cancelled before its turn is never started`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.wait(gate), .connect, .receiveRest, .respond(.ok)]])
        var options = UploadBatchOptions()
        options.window = 1
        let batch = world.session.startBatch(of: 0..<3, options: options) { request($0) }
        await gate.arrivals(atLeast: 1)
        batch.cancel(at: 1)
        gate.open()
        #expect(await batch.summary.cancelled == 1)
        #expect(world.transport.transfers.map { number($0.request) } == [0, 2])
    }

    @Test func `an item can be cancelled while its request is created`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let (came, canContinue) = (Watched(false), Watched(false))
        let batch = world.session.startBatch(of: 0..<1) { number in
            came.update { $0 = true }
            try await canContinue.waitUntil { $0 }
            return request(number)
        }
        try await came.waitUntil { $0 }
        batch.cancel(at: 0)
        canContinue.update { $0 = true }
        #expect(await batch.summary.cancelled == 1)
    }

    @Test func `cancelling a batch cancels the closure that creates a request`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let came = Watched(false)
        let batch = world.session.startBatch(of: 0..<3) { number in
            came.update { $0 = true }
            try await Task.sleep(for: .seconds(3_600))
            return request(number)
        }
        try await came.waitUntil { $0 }
        batch.cancel()
        let summary = await batch.summary
        #expect(summary.cancelled == 1 && summary.failed == 0 && !summary.isComplete)
        #expect(world.transport.transfers.isEmpty)
    }

    @Test func `a paused batch takes no more items and continues after resuming`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .wait(gate), .receiveRest, .respond(.ok)]], slots: 2, slotsPerHost: 2)
        var options = UploadBatchOptions()
        options.window = 2
        let batch = world.session.startBatch(of: 0..<20, options: options) { request($0) }
        await gate.arrivals(atLeast: 2)
        batch.pause()
        gate.open()
        #expect(batch.isPaused && batch.executing.values.allSatisfy { $0.isPaused && $0.state == .executing })
        for _ in 0..<200 { await Task.yield() }
        #expect(world.transport.transfers.count == 2)
        batch.resume()
        #expect(await batch.summary.succeeded == 20)
        #expect(!batch.isPaused)
    }

    @Test func `a paused batch can be cancelled`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let batch = world.session.startBatch(of: 0..<20) { request($0) }
        batch.pause()
        batch.cancel()
        let summary = await batch.summary
        #expect(!summary.isComplete && summary.taken == summary.succeeded + summary.cancelled)
    }

    @Test func `cancelling a batch cancels running items and takes no more`() async throws {
        let world = SessionWorld([[.connect, .receive(10), .hang]], slots: 4, slotsPerHost: 4)
        let batch = world.session.startBatch(of: 0..<1_000) { request($0) }
        while batch.executing.count < 4 { await Task.yield() }
        batch.cancel()
        batch.cancel()
        let summary = await batch.summary
        #expect(summary.taken == summary.cancelled && summary.taken <= 10 && !summary.isComplete)
        #expect(world.transport.running == 0)
        #expect("\(summary)".hasSuffix("remaining items were not started"))
    }

    @Test func `onFailure stop ends the batch at the first failure`() async throws {
        let gate = ScriptGate()
        let transport = ScriptedTransport { request, _ in
            request.url.hasSuffix("/2")
                ? [.connect, .wait(gate), .receiveRest, .respond(.forbidden)] : [.connect, .hang]
        }
        let world = SessionWorld(transport, slots: 3, slotsPerHost: 3)
        var options = UploadBatchOptions()
        options.onFailure = .stop
        let batch = world.session.startBatch(of: 0..<100, options: options) { request($0) }
        await gate.arrivals(atLeast: 1)
        gate.open()
        let summary = await batch.summary
        #expect(summary.failed == 1 && summary.failures.map(\.index) == [2])
        #expect(summary.cancelled == summary.taken - 1 && !summary.isComplete)
    }

    @Test func `an error thrown by the closure fails only its item`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let batch = world.session.startBatch(of: 0..<3) { number in
            if number == 1 { throw Refused() }
            return request(number)
        }
        let summary = await batch.summary
        #expect(summary.succeeded == 2 && summary.failed == 1)
        #expect(summary.failures.first?.error.code == .preparationFailed)
        #expect(summary.failures.first?.error.cause is Refused)
    }

    @Test func `a failing source ends the batch after the items in flight`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let (stream, feed) = AsyncThrowingStream.makeStream(of: Int.self)
        feed.yield(0)
        feed.yield(1)
        feed.finish(throwing: Refused())
        let summary = await world.session.startBatch(of: stream) { request($0) }.summary
        #expect(summary.succeeded == 2 && !summary.isComplete && summary.sourceError is Refused)
    }

    @Test func `a batch of an empty source ends immediately`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let batch = world.session.startBatch(of: [UploadRequest]())
        #expect(await batch.summary.isSuccess)
        var last: UploadBatchProgress?
        for await progress in batch.progress { last = progress }
        #expect(last?.isFinished == true && last?.fraction == 1 && last?.count == 0)
        for await _ in batch.results { Issue.record("there is nothing") }
    }

    @Test func `a closed session ends a batch instead of failing every item`() async throws {
        let world = SessionWorld([.responding(.ok)])
        await world.session.close()
        let summary = await world.session.startBatch(of: 0..<100_000) { request($0) }.summary
        #expect(summary.failed >= 1 && summary.taken < 100 && !summary.isComplete)
        #expect(summary.failures.first?.error.code == .sessionClosed)
    }

    @Test func `uploadAll returns results in the order of the source`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let shown = Watched<UploadBatchProgress?>(nil)
        async let results = world.session.uploadAll(
            0..<30,
            onProgress: { progress in
                shown.update { $0 = progress }
            }
        ) { request($0) }
        let clock = world.clock
        let ticking = Task { while !Task.isCancelled { clock.advance(by: .seconds(1)); await Task.yield() } }
        #expect(await results.map(\.item) == Array(0..<30))
        ticking.cancel()
        #expect(shown.value?.isFinished == true && shown.value?.succeeded == 30 && shown.value?.acknowledged == 3_000)
    }

    @Test func `uploadAll returns every result even with a small buffer of unread results`() async throws {
        let world = SessionWorld([.responding(.ok)])
        var options = UploadBatchOptions()
        options.unreadResults = 1
        for _ in 0..<20 {
            #expect(await world.session.uploadAll(0..<50, options: options) { request($0) }.count == 50)
        }
    }

    @Test func `cancelling uploadAll cancels all items and returns a result for each`() async throws {
        let world = SessionWorld([[.connect, .receive(10), .hang]], slots: 2, slotsPerHost: 2)
        let task = Task { await world.session.uploadAll(0..<100) { request($0) } }
        while world.transport.running < 2 { await Task.yield() }
        task.cancel()
        let results = await task.value
        #expect(
            !results.isEmpty
                && results.allSatisfy { result in
                    if case .failure(let error) = result.result { error.isCancelled } else { false }
                })
        #expect(world.transport.running == 0)
    }

    @Test func `progress sums the bytes of all items and never decreases across retries`() async throws {
        let gate = ScriptGate()
        // The first attempt of each item fails. Attempts are not numbered by item: a retry may precede another item.
        let failed = Locked(Set<String>())
        let retries = Watched(0)
        let transport = ScriptedTransport { request, _ in
            guard !failed.withLock({ $0.insert(request.url).inserted }) else {
                return [.connect, .acknowledgeHead, .receive(60), .fail(.connectionLost)]
            }
            retries.update { $0 += 1 }
            return [.connect, .acknowledgeHead, .receive(30), .wait(gate), .receiveRest, .respond(.ok)]
        }
        let world = SessionWorld(transport, retry: RetryPolicy(maxRetries: 3, baseDelay: .milliseconds(1)))
        let batch = world.session.startBatch(of: 0..<2) { request($0) }
        var progress = batch.progress.makeAsyncIterator()
        let clock = world.clock
        let ticking = Task { while !Task.isCancelled { clock.advance(by: .seconds(1)); await Task.yield() } }
        // A listener may miss any snapshot but the last, so no snapshot is waited for.
        async let opening: Void = {
            try await retries.waitUntil { $0 == 2 }
            gate.open()
        }()
        var (arrived, fraction) = (Int64(0), 0.0)
        while let now = await progress.next() {
            #expect(now.acknowledged >= arrived)
            #expect((now.fraction ?? 0) >= fraction)
            (arrived, fraction) = (now.acknowledged, now.fraction ?? 0)
            if now.isFinished { #expect(now.succeeded == 2 && now.timeLeft == .zero && now.total == 200) }
        }
        ticking.cancel()
        try await opening
        #expect(arrived == 200 && fraction == 1)
    }

    @Test func `the fraction of a batch weighs items by bytes`() async throws {
        let gate = ScriptGate()
        let transport = ScriptedTransport { request, _ in
            request.url.hasSuffix("/9") ? [.connect, .wait(gate), .receiveRest, .respond(.ok)] : .responding(.ok)
        }
        let world = SessionWorld(transport)
        let batch = world.session.startBatch(of: 0..<10) { request($0, bytes: $0 == 9 ? 9_100 : 100) }
        let clock = world.clock
        let ticking = Task { while !Task.isCancelled { clock.advance(by: .seconds(1)); await Task.yield() } }
        var wasSeen = false
        for await now in batch.progress where now.ended == 9 && !now.isEstimated && !wasSeen {
            wasSeen = true
            #expect(now.fraction == 0.09 && now.total == 10_000)
            gate.open()
        }
        ticking.cancel()
        #expect(wasSeen)
    }

    @Test func `the sizes of a list of requests are known before their turn`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .wait(gate), .receiveRest, .respond(.ok)]])
        var options = UploadBatchOptions()
        options.window = 1
        let requests = (1...4).map { request($0, bytes: $0 * 100) }
        let batch = world.session.startBatch(of: requests, options: options)
        let clock = world.clock
        let ticking = Task { while !Task.isCancelled { clock.advance(by: .seconds(1)); await Task.yield() } }
        var taken: Int?
        for await now in batch.progress where !now.isEstimated && taken == nil {
            taken = now.taken
            #expect(now.total == 1_000)
            gate.open()
        }
        ticking.cancel()
        #expect((taken ?? 4) <= 1)
    }

    @Test func `the expected length of files is known before they are prepared`() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("card.jpg", String(repeating: "x", count: 5_000))
        let form: MultipartForm = [
            .text("KEY", "one\ntwo"), .text("TOKEN", .secret("s")), .file("FILE", path: file),
            .file("part", path: file, range: 10..<20), .data("raw", [1, 2, 3], contentType: "a/b"),
        ]
        let expected = try #require(await form.expectedLength())
        #expect(expected.isExact)
        #expect(try await expected.bytes == form.prepared().length)
        let content = try #require(await UploadContent.file(path: file).expectedLength())
        #expect(content == ExpectedLength(5_000))
        #expect(await UploadContent.file(path: folder.path("none")).expectedLength() == nil)
    }

    @Test func `an image is expected to have its limit, or less if its file is smaller`() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("card.jpg", String(repeating: "x", count: 5_000))
        func length(_ options: JPEGOptions) async -> Int64? {
            let form: MultipartForm = [.image("FILE", path: file, options)]
            guard let expected = await form.expectedLength() else { return nil }
            #expect(!expected.isExact)
            let empty: MultipartForm = [.data("FILE", [], fileName: "card.jpg", contentType: "image/jpeg")]
            return expected.bytes - (await empty.expectedLength()?.bytes ?? 0)
        }
        #expect(await length(.maxBytes(.bytes(2_000))) == 2_000)
        #expect(await length(.maxBytes(.bytes(9_000))) == 5_000)
        #expect(await length(.quality(80)) == 5_000)
    }
}
