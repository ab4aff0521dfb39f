import Testing

@testable import ReceiverKit

/// What stands behind the page, without a network.
@Suite(.timeLimit(.minutes(1)))
struct JournalTests {
    @Test func `a watcher is told the latest of each upload, and no end is lost`() async throws {
        let journal = Journal()
        let watch = try #require(await journal.watch())
        var wakes = watch.wakes.makeAsyncIterator()
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
        #expect(await wakes.next() != nil)
        let news = await journal.news(for: watch.id)
        #expect(news.map(\.id) == [first.id, second.id])
        #expect(news.map(\.received) == [1_000, 0])
        #expect(news.map(\.state) == [.arriving, .stored])
        #expect(await journal.news(for: watch.id).isEmpty)
    }

    @Test func `fifty are remembered, and one that still arrives is not forgotten for others`() async {
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
        #expect(all.count == Journal.most)
        #expect(all.first?.id == slow.id)
        #expect(all.dropFirst().map(\.agent) == (31..<80).map { "\($0)" })
        #expect(await journal.file(0, of: all[49].id)?.path == "/p79")
        for index in [-1, 1, .max] { #expect(await journal.file(index, of: all[49].id) == nil) }
    }

    @Test func `only so many may look, and each that leaves makes room`() async throws {
        let journal = Journal()
        var watches: [Journal.Watch] = []
        for _ in 0..<Journal.mostWatchers { watches.append(try #require(await journal.watch())) }
        #expect(await journal.watch() == nil)
        watches.removeAll()
        while await journal.watcherCount > 0 { await Task.yield() }
        #expect(await journal.watch() != nil)
    }

    @Test func `whoever waits for a watcher goes on when one comes, or when cancelled`() async throws {
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

    @Test func `an upload is told of at a pace, with the rate of its last second`() {
        var meter = ArrivalMeter()
        var told: [Int] = []
        // 100 kB/s for two seconds, then 400 kB/s for two.
        for step in 1...400 {
            let bytes = step <= 200 ? 1_000 : 4_000
            if meter.add(bytes, at: .milliseconds(step * 10)) { told.append(meter.received) }
        }
        #expect((60...81).contains(told.count))
        #expect(told == told.sorted())
        #expect(meter.received == 1_000_000)
        #expect((380_000...420_000).contains(meter.bytesPerSecond))
    }

    @Test func `a rate needs no second to have passed, and none is no number`() {
        var meter = ArrivalMeter()
        _ = meter.add(5, at: .zero)
        #expect(meter.bytesPerSecond == 0)
        _ = meter.add(100_000, at: .milliseconds(200))
        #expect(meter.bytesPerSecond == 500_025)
    }

    @Test func `long foreign texts are cut between scalars`() {
        let short = String(repeating: "照", count: Excerpt.longest)
        #expect(Excerpt.of(short) == short)
        #expect(Excerpt.of("") == "")
        let stacked = "e" + String(repeating: "\u{301}", count: 100_000)
        #expect(Excerpt.of(stacked).unicodeScalars.count == Excerpt.longest + 1)
        #expect(Excerpt.of(short + "片") == short + "…")
    }

    @Test(arguments: [
        ("/", PageRoute.page), ("/page/send.js", .asset("send.js")), ("/watch/k/events", .events(key: "k")),
        ("/watch/k/arrivals/i/2/small.jpg", .arrival(key: "k", id: "i", file: 2, view: .small)),
        ("/watch/k", nil), ("/watch/k/arrivals/i/x/small.jpg", nil), ("/watch/k/arrivals/i/0/other.jpg", nil),
        ("/page", nil), ("/page/a/b", nil), ("/other", nil),
    ])
    func `a path leads to one thing or to nothing`(_ path: String, _ route: PageRoute?) {
        #expect(PageRoute(path: path) == route)
    }

    @Test(arguments: [
        ("127.0.0.1:8080", true), ("localhost", true), ("LOCALHOST:1", true), ("[::1]:80", true), ("", false),
        ("evil.example", false), ("127.0.0.1.evil.example", false), ("localhost.evil.example:80", false),
        ("evil.example:127", false), ("127.0.0.1:80@evil.example", false),
    ])
    func `only names of this machine are answered`(_ host: String, _ isOurs: Bool) {
        #expect(PageHandler.isOurs(host) == isOurs)
    }

    @Test func `names that nobody can guess have their whole length`() {
        let names = Set((0..<1_000).map { _ in RandomName.make() })
        #expect(names.count == 1_000)
        #expect(names.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{32}/) != nil })
    }
}
