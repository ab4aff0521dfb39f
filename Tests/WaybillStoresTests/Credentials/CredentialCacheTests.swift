import FoundationEssentials
import TestSupport
import Testing
import WaybillCore

@testable import WaybillStores

@Suite struct `Credential cache rules` {
    private static let begin = Date(timeIntervalSince1970: 1_700_000_000)

    static func credentials(_ name: String, until seconds: Double?) -> StoreCredentials {
        StoreCredentials(
            accessKeyID: name, accessKeySecret: .secret("secret"), securityToken: .secret("token"),
            expiration: seconds.map { begin.addingTimeInterval($0) })
    }

    /// A cache with a manual time for both date and clock.
    private struct CacheAtTime {
        var cache = CredentialCache(pace: CredentialPace())
        var time = 0.0

        mutating func ask(rejecting: StoreCredentials? = nil) -> CredentialCache.Decision {
            cache.decide(now: begin.addingTimeInterval(time), elapsed: .seconds(time), rejecting: rejecting)
        }

        mutating func record(_ id: Int, _ result: Result<StoreCredentials, StoreError>) {
            cache.record(result, of: id, now: begin.addingTimeInterval(time), elapsed: .seconds(time))
        }
    }

    @Test func `the first request fetches, and later ones wait for it`() {
        var cache = CacheAtTime()
        #expect(cache.ask() == .fetch(id: 1))
        #expect(cache.ask() == .wait(id: 1))
        let found = Self.credentials("a", until: 3_600)
        cache.record(1, .success(found))
        #expect(cache.ask() == .use(found))
    }

    @Test func `credentials are refreshed once in the background before they expire`() {
        var cache = CacheAtTime()
        _ = cache.ask()
        let (old, new) = (Self.credentials("a", until: 3_600), Self.credentials("b", until: 7_200))
        cache.record(1, .success(old))
        cache.time = 3_299
        #expect(cache.ask() == .use(old))
        cache.time = 3_300
        #expect(cache.ask() == .useAndFetch(old, id: 2))
        #expect(cache.ask() == .use(old))
        cache.record(2, .success(new))
        #expect(cache.ask() == .use(new))
    }

    @Test func `short-lived credentials are refreshed in the last fifth of their lifetime`() {
        var cache = CacheAtTime()
        _ = cache.ask()
        let short = Self.credentials("a", until: 100)
        cache.record(1, .success(short))
        cache.time = 79
        #expect(cache.ask() == .use(short))
        cache.time = 80
        #expect(cache.ask() == .useAndFetch(short, id: 2))
    }

    @Test func `a failed background refresh keeps the credentials and backs off`() {
        var cache = CacheAtTime()
        _ = cache.ask()
        let old = Self.credentials("a", until: 3_600)
        cache.record(1, .success(old))
        cache.time = 3_400
        #expect(cache.ask() == .useAndFetch(old, id: 2))
        cache.record(2, .failure(StoreError(.credentialsUnavailable, "down")))
        #expect(cache.ask() == .use(old))
        cache.time = 3_401
        #expect(cache.ask() == .useAndFetch(old, id: 3))
        cache.record(3, .failure(StoreError(.credentialsUnavailable, "down")))
        cache.time = 3_402
        #expect(cache.ask() == .use(old), "the second failure is cached for two seconds")
        cache.time = 3_403
        #expect(cache.ask() == .useAndFetch(old, id: 4))
    }

    @Test func `failures without credentials back off exponentially up to 60 seconds`() {
        var cache = CacheAtTime()
        var waits: [Double] = []
        for id in 1...8 {
            cache.record(id - 1, .success(Self.credentials("late", until: 9_999)))
            #expect(id > 1 || cache.ask() == .fetch(id: 1))
            cache.record(id, .failure(StoreError(.credentialsUnavailable, "down")))
            let start = cache.time
            while case .fail(let error) = cache.ask(), cache.time < start + 100 {
                #expect(error.code == .credentialsUnavailable)
                cache.time += 0.5
            }
            #expect(cache.ask() == .wait(id: id + 1), "the first request after the back-off starts a fetch")
            waits.append(cache.time - start)
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60])
        let found = Self.credentials("a", until: cache.time + 3_600)
        cache.record(9, .success(found))
        #expect(cache.ask() == .use(found))
    }

    @Test func `rejected credentials are not returned again`() {
        var cache = CacheAtTime()
        _ = cache.ask()
        let (old, new) = (Self.credentials("a", until: 3_600), Self.credentials("b", until: 3_600))
        cache.record(1, .success(old))
        cache.time = 60
        #expect(cache.ask(rejecting: old) == .fetch(id: 2))
        #expect(cache.ask(rejecting: old) == .wait(id: 2))
        cache.record(2, .success(new))
        #expect(cache.ask(rejecting: old) == .use(new), "a late caller gets the credentials fetched in the meantime")
        guard case .fail(let error) = cache.ask(rejecting: new) else {
            Issue.record("recently fetched credentials are fetched again immediately")
            return
        }
        #expect(error.code == .credentialsRejected)
        cache.time = 70
        #expect(cache.ask(rejecting: new) == .fetch(id: 3))
    }

    @Test func `credentials that arrive expired are an error with a back-off`() {
        var cache = CacheAtTime()
        _ = cache.ask()
        cache.record(1, .success(Self.credentials("a", until: 0)))
        guard case .fail(let error) = cache.ask() else {
            Issue.record("a provider with a wrong clock is called for every request")
            return
        }
        #expect(error.code == .credentialsExpired)
    }

    @Test(arguments: [0.0, -62_135_596_800, 1_700_000_000_000, 1_000_000_000])
    func `an implausible expiration is an error`(_ seconds: Double) {
        var cache = CacheAtTime()
        _ = cache.ask()
        var invalid = Self.credentials("a", until: nil)
        invalid.expiration = Date(timeIntervalSince1970: seconds)
        cache.record(1, .success(invalid))
        guard case .fail(let error) = cache.ask() else {
            Issue.record("an implausible date is accepted")
            return
        }
        #expect(error.code == .credentialsMalformed)
    }

    @Test func `credentials without an expiration are used until they are rejected`() {
        var cache = CacheAtTime()
        _ = cache.ask()
        let permanent = Self.credentials("a", until: nil)
        cache.record(1, .success(permanent))
        cache.time = 1_000_000
        #expect(cache.ask() == .use(permanent))
        #expect(cache.ask(rejecting: permanent) == .fetch(id: 2))
    }

    @Test func `duplicate and unknown fetch results are ignored`() {
        var cache = CacheAtTime()
        _ = cache.ask()
        let found = Self.credentials("a", until: 3_600)
        cache.record(1, .success(found))
        cache.record(1, .failure(StoreError(.credentialsUnavailable, "again")))
        cache.record(7, .failure(StoreError(.credentialsUnavailable, "never begun")))
        #expect(cache.ask() == .use(found))
    }

    @Test(arguments: 0..<10)
    func `random runs never return expired or rejected credentials, with one fetch in flight`(_ round: Int) {
        var random = SeededGenerator()
        let seed = random.seed
        var cache = CacheAtTime()
        var pending: Int?
        var names = 0
        for _ in 0..<400 {
            cache.time += Double.random(in: 0...40, using: &random)
            let now = Self.begin.addingTimeInterval(cache.time)
            if let id = pending, Bool.random(using: &random) {
                names += 1
                let lifetime = Double.random(in: -20...200, using: &random)
                cache.record(
                    id,
                    Bool.random(using: &random)
                        ? .success(Self.credentials("\(names)", until: cache.time + lifetime))
                        : .failure(StoreError(.credentialsUnavailable, "down")))
                pending = nil
            }
            let rejecting = Int.random(in: 0..<4, using: &random) == 0 ? cache.cache.current : nil
            switch cache.ask(rejecting: rejecting) {
            case .use(let given):
                #expect(given != rejecting && given.isValid(at: now), "seed \(seed)")
            case .useAndFetch(let given, let id):
                #expect(given != rejecting && given.isValid(at: now) && pending == nil, "seed \(seed)")
                pending = id
            case .fetch(let id):
                #expect(pending == nil, "seed \(seed)")
                pending = id
            case .wait(let id):
                #expect(pending == id, "seed \(seed)")
            case .fail:
                #expect(pending == nil, "seed \(seed)")
            }
        }
    }
}

extension CredentialCache.Decision: Equatable {
    static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.use(let first), .use(let second)): first == second
        case (.useAndFetch(let first, let one), .useAndFetch(let second, let other)): first == second && one == other
        case (.fetch(let one), .fetch(let other)), (.wait(let one), .wait(let other)): one == other
        case (.fail(let first), .fail(let second)): first.code == second.code
        default: false
        }
    }
}
