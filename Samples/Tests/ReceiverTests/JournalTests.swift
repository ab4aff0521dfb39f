import Testing

@testable import ReceiverKit

/// Tests of the page's model, without a network.
@Suite(.timeLimit(.minutes(1)))
struct JournalTests {
    @Test func `a watcher gets the latest state of each upload`() async throws {
        let journal = Journal()
        let watch = try #require(await journal.watch())
        var notifications = watch.notifications.makeAsyncIterator()
        var first = Arrival(agent: "a", total: 10)
        var second = Arrival(agent: "b", total: nil)
        await journal.put(first)
        await journal.put(second)
        for count in 1...1_000 {
            first.received = count
            await journal.put(first)
        }
        second.state = .stored
        await journal.put(second)
        #expect(await notifications.next() != nil)
        let changes = await journal.changes(for: watch.id)
        #expect(changes.map(\.id) == [first.id, second.id])
        #expect(changes.map(\.received) == [1_000, 0])
        #expect(changes.map(\.state) == [.arriving, .stored])
        #expect(await journal.changes(for: watch.id).isEmpty)
    }

    @Test func `the oldest finished upload is removed above the limit`() async {
        let journal = Journal()
        let slow = Arrival(agent: "slow", total: nil)
        await journal.put(slow)
        for number in 0..<80 {
            var arrival = Arrival(agent: "\(number)", total: nil)
            await journal.put(arrival)
            arrival.state = .stored
            await journal.put(arrival, [.init(path: "/p\(number)", fileName: "n")])
        }
        let all = await journal.all
        #expect(all.count == Journal.maxArrivals)
        #expect(all.first?.id == slow.id)
        #expect(all.dropFirst().map(\.agent) == (31..<80).map { "\($0)" })
        #expect(await journal.file(0, of: all[49].id)?.path == "/p79")
        for index in [-1, 1, .max] { #expect(await journal.file(index, of: all[49].id) == nil) }
    }

    @Test func `the number of watchers is limited until one is removed`() async throws {
        let journal = Journal()
        var watches: [Journal.Watch] = []
        for _ in 0..<Journal.maxWatchers { watches.append(try #require(await journal.watch())) }
        #expect(await journal.watch() == nil)
        watches.removeAll()
        while await journal.watcherCount > 0 { await Task.yield() }
        #expect(await journal.watch() != nil)
    }

    @Test func `waiting for a watcher ends when one is added or the task is cancelled`() async throws {
        let journal = Journal()
        let waiting = Task { await journal.waitForWatcher() }
        let cancelled = Task { await journal.waitForWatcher() }
        cancelled.cancel()
        await cancelled.value
        let watch = await journal.watch()
        await waiting.value
        await journal.waitForWatcher()
        #expect(watch != nil)
    }

    @Test func `progress reports are throttled and have the rate of the last second`() {
        var meter = ArrivalMeter()
        var reported: [Int] = []
        // 100 kB/s for two seconds, then 400 kB/s for two.
        for step in 1...400 {
            let bytes = step <= 200 ? 1_000 : 4_000
            if meter.add(bytes, at: .milliseconds(step * 10)) { reported.append(meter.received) }
        }
        #expect((60...81).contains(reported.count))
        #expect(reported == reported.sorted())
        #expect(meter.received == 1_000_000)
        #expect((380_000...420_000).contains(meter.bytesPerSecond))
    }

    @Test func `the rate is finite in the first second`() {
        var meter = ArrivalMeter()
        _ = meter.add(5, at: .zero)
        #expect(meter.bytesPerSecond == 0)
        _ = meter.add(100_000, at: .milliseconds(200))
        #expect(meter.bytesPerSecond == 500_025)
    }

    @Test func `long client text is truncated between scalars`() {
        let short = String(repeating: "照", count: Excerpt.maxScalars)
        #expect(Excerpt.of(short) == short)
        #expect(Excerpt.of("") == "")
        let stacked = "e" + String(repeating: "\u{301}", count: 100_000)
        #expect(Excerpt.of(stacked).unicodeScalars.count == Excerpt.maxScalars + 1)
        #expect(Excerpt.of(short + "片") == short + "…")
    }

    @Test(arguments: [
        ("/", PageRoute.page), ("/page/send.js", .asset("send.js")), ("/watch/k/events", .events(key: "k")),
        ("/watch/k/arrivals/i/2/small.jpg", .arrival(key: "k", id: "i", file: 2, view: .small)),
        ("/watch/k", nil), ("/watch/k/arrivals/i/x/small.jpg", nil), ("/watch/k/arrivals/i/0/other.jpg", nil),
        ("/page", nil), ("/page/a/b", nil), ("/other", nil),
    ])
    func `a path has one route or none`(_ path: String, _ route: PageRoute?) {
        #expect(PageRoute(path: path) == route)
    }

    @Test(arguments: [
        ("127.0.0.1:8080", true), ("localhost", true), ("LOCALHOST:1", true), ("[::1]:80", true), ("", false),
        ("evil.example", false), ("127.0.0.1.evil.example", false), ("localhost.evil.example:80", false),
        ("evil.example:127", false), ("127.0.0.1:80@evil.example", false),
    ])
    func `only loopback hosts are accepted`(_ host: String, _ isLoopback: Bool) {
        #expect(PageHandler.isLoopback(host) == isLoopback)
    }

    @Test func `random names are unique and have 32 digits`() {
        let names = Set((0..<1_000).map { _ in RandomName.make() })
        #expect(names.count == 1_000)
        #expect(names.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{32}/) != nil })
    }
}
