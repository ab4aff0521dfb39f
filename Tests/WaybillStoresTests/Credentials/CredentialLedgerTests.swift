import FoundationEssentials
import TestSupport
import Testing
import WaybillCore

@testable import WaybillStores

/// The pure rules of fetched credentials.
@Suite struct `When credentials are fetched` {
    private static let begin = Date(timeIntervalSince1970: 1_700_000_000)

    static func credentials(_ name: String, until seconds: Double?) -> StoreCredentials {
        StoreCredentials(
            accessKeyID: name, accessKeySecret: .secret("secret"), securityToken: .secret("token"),
            expiration: seconds.map { begin.addingTimeInterval($0) })
    }

    /// A ledger with a manual time for both date and clock.
    private struct Book {
        var ledger = CredentialCache(pace: CredentialPace())
        var time = 0.0

        mutating func ask(rejecting: StoreCredentials? = nil) -> CredentialCache.Decision {
            ledger.decide(now: begin.addingTimeInterval(time), elapsed: .seconds(time), rejecting: rejecting)
        }

        mutating func land(_ flight: Int, _ result: Result<StoreCredentials, StoreError>) {
            ledger.land(flight: flight, result, now: begin.addingTimeInterval(time), elapsed: .seconds(time))
        }
    }

    @Test func `the first request fetches, and later ones wait for it`() {
        var book = Book()
        #expect(book.ask() == .fetch(flight: 1))
        #expect(book.ask() == .wait(flight: 1))
        let found = Self.credentials("a", until: 3_600)
        book.land(1, .success(found))
        #expect(book.ask() == .use(found))
    }

    @Test func `credentials are refreshed once in the background before they expire`() {
        var book = Book()
        _ = book.ask()
        let (old, new) = (Self.credentials("a", until: 3_600), Self.credentials("b", until: 7_200))
        book.land(1, .success(old))
        book.time = 3_299
        #expect(book.ask() == .use(old))
        book.time = 3_300
        #expect(book.ask() == .useAndFetch(old, flight: 2))
        #expect(book.ask() == .use(old))
        book.land(2, .success(new))
        #expect(book.ask() == .use(new))
    }

    @Test func `short-lived credentials are refreshed in the last fifth of their lifetime`() {
        var book = Book()
        _ = book.ask()
        let short = Self.credentials("a", until: 100)
        book.land(1, .success(short))
        book.time = 79
        #expect(book.ask() == .use(short))
        book.time = 80
        #expect(book.ask() == .useAndFetch(short, flight: 2))
    }

    @Test func `a failed background refresh keeps the credentials and backs off`() {
        var book = Book()
        _ = book.ask()
        let old = Self.credentials("a", until: 3_600)
        book.land(1, .success(old))
        book.time = 3_400
        #expect(book.ask() == .useAndFetch(old, flight: 2))
        book.land(2, .failure(StoreError(.credentialsUnavailable, "down")))
        #expect(book.ask() == .use(old))
        book.time = 3_401
        #expect(book.ask() == .useAndFetch(old, flight: 3))
        book.land(3, .failure(StoreError(.credentialsUnavailable, "down")))
        book.time = 3_402
        #expect(book.ask() == .use(old), "the second failure is remembered for two seconds")
        book.time = 3_403
        #expect(book.ask() == .useAndFetch(old, flight: 4))
    }

    @Test func `failures without credentials back off exponentially up to 60 seconds`() {
        var book = Book()
        var waits: [Double] = []
        for flight in 1...8 {
            book.land(flight - 1, .success(Self.credentials("late", until: 9_999)))
            #expect(flight > 1 || book.ask() == .fetch(flight: 1))
            book.land(flight, .failure(StoreError(.credentialsUnavailable, "down")))
            let start = book.time
            while case .fail(let error) = book.ask(), book.time < start + 100 {
                #expect(error.code == .credentialsUnavailable)
                book.time += 0.5
            }
            #expect(book.ask() == .wait(flight: flight + 1), "the one who came after the back-off has begun a fetch")
            waits.append(book.time - start)
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60])
        let found = Self.credentials("a", until: book.time + 3_600)
        book.land(9, .success(found))
        #expect(book.ask() == .use(found))
    }

    @Test func `rejected credentials are not returned again`() {
        var book = Book()
        _ = book.ask()
        let (old, new) = (Self.credentials("a", until: 3_600), Self.credentials("b", until: 3_600))
        book.land(1, .success(old))
        book.time = 60
        #expect(book.ask(rejecting: old) == .fetch(flight: 2))
        #expect(book.ask(rejecting: old) == .wait(flight: 2))
        book.land(2, .success(new))
        #expect(book.ask(rejecting: old) == .use(new), "those who come late get what was fetched meanwhile")
        guard case .fail(let error) = book.ask(rejecting: new) else {
            Issue.record("credentials of a moment ago are fetched again at once")
            return
        }
        #expect(error.code == .credentialsRejected)
        book.time = 70
        #expect(book.ask(rejecting: new) == .fetch(flight: 3))
    }

    @Test func `credentials that arrive expired are an error with a back-off`() {
        var book = Book()
        _ = book.ask()
        book.land(1, .success(Self.credentials("a", until: 0)))
        guard case .fail(let error) = book.ask() else {
            Issue.record("a getter with a wrong clock is called for every request")
            return
        }
        #expect(error.code == .credentialsExpired)
    }

    @Test(arguments: [0.0, -62_135_596_800, 1_700_000_000_000, 1_000_000_000])
    func `an implausible expiration is an error`(_ seconds: Double) {
        var book = Book()
        _ = book.ask()
        var absurd = Self.credentials("a", until: nil)
        absurd.expiration = Date(timeIntervalSince1970: seconds)
        book.land(1, .success(absurd))
        guard case .fail(let error) = book.ask() else {
            Issue.record("absurd dates are believed")
            return
        }
        #expect(error.code == .credentialsMalformed)
    }

    @Test func `credentials without an expiration are used until they are rejected`() {
        var book = Book()
        _ = book.ask()
        let lasting = Self.credentials("a", until: nil)
        book.land(1, .success(lasting))
        book.time = 1_000_000
        #expect(book.ask() == .use(lasting))
        #expect(book.ask(rejecting: lasting) == .fetch(flight: 2))
    }

    @Test func `duplicate and unknown fetch results are ignored`() {
        var book = Book()
        _ = book.ask()
        let found = Self.credentials("a", until: 3_600)
        book.land(1, .success(found))
        book.land(1, .failure(StoreError(.credentialsUnavailable, "again")))
        book.land(7, .failure(StoreError(.credentialsUnavailable, "never begun")))
        #expect(book.ask() == .use(found))
    }

    @Test(arguments: 0..<10)
    func `random runs never return expired or rejected credentials, with one fetch in flight`(_ round: Int) {
        var random = SeededGenerator()
        let seed = random.seed
        var book = Book()
        var underWay: Int?
        var names = 0
        for _ in 0..<400 {
            book.time += Double.random(in: 0...40, using: &random)
            let now = Self.begin.addingTimeInterval(book.time)
            if let flight = underWay, Bool.random(using: &random) {
                names += 1
                let life = Double.random(in: -20...200, using: &random)
                book.land(
                    flight,
                    Bool.random(using: &random)
                        ? .success(Self.credentials("\(names)", until: book.time + life))
                        : .failure(StoreError(.credentialsUnavailable, "down")))
                underWay = nil
            }
            let rejecting = Int.random(in: 0..<4, using: &random) == 0 ? book.ledger.current : nil
            switch book.ask(rejecting: rejecting) {
            case .use(let given):
                #expect(given != rejecting && given.isValid(at: now), "seed \(seed)")
            case .useAndFetch(let given, let flight):
                #expect(given != rejecting && given.isValid(at: now) && underWay == nil, "seed \(seed)")
                underWay = flight
            case .fetch(let flight):
                #expect(underWay == nil, "seed \(seed)")
                underWay = flight
            case .wait(let flight):
                #expect(underWay == flight, "seed \(seed)")
            case .fail:
                #expect(underWay == nil, "seed \(seed)")
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
