import FoundationEssentials
import Testing
import WaybillCore

@testable import WaybillStores

@Suite struct `Store retry decisions` {
    typealias Failure = StoreRetryDecision.Failure
    typealias Step = StoreRetryDecision.Step

    private static let now = Date(timeIntervalSince1970: 1_700_000_000)

    private static func failure(_ outcome: UploadOutcome = .rejected, _ change: (inout Failure) -> Void = { _ in })
        -> Failure
    {
        var failure = Failure(outcome: outcome)
        change(&failure)
        return failure
    }

    private static let table: [(String, Failure, Step)] = [
        (
            "cancelled",
            failure {
                $0.isCancelled = true; $0.status = 401
            }, .stop(nil)
        ),
        ("plain no", failure { $0.status = 403 }, .stop(nil)),
        ("busy", failure { $0.status = 503 }, .stop(nil)),
        ("not sent", failure(.notSent), .stop(nil)),
        ("incomplete", failure(.incomplete(acknowledged: 3)), .stop(nil)),
        ("unknown", failure(.unknown), .lookUp),
        ("unknown, and read once", failure(.unknown) { $0.isReplayable = false }, .lookUp),
        ("the response of a gateway", failure(.unknown) { $0.status = 504 }, .lookUp),
        ("checksum", failure { $0.isChecksumMismatch = true }, .sendAgain),
        (
            "transient",
            failure {
                $0.status = 400; $0.isTransient = true
            }, .sendAgain
        ),
        (
            "region",
            failure {
                $0.status = 301; $0.region = "eu-west-1"
            }, .changeRegion("eu-west-1")
        ),
        ("401", failure { $0.status = 401 }, .refreshCredentials),
        (
            "token",
            failure {
                $0.status = 403; $0.isCredentialError = true
            }, .refreshCredentials
        ),
        (
            "clock by ServerTime",
            failure {
                $0.isClockError = true; $0.serverTime = now + 1_200; $0.dateField = now + 5
            },
            .correctClock(1_200)
        ),
        (
            "clock by Date",
            failure {
                $0.isClockError = true; $0.dateField = now - 1_200
            }, .correctClock(-1_200)
        ),
        (
            "clock by Date, ServerTime of 1970",
            failure {
                $0.isClockError = true; $0.serverTime = Date(timeIntervalSince1970: 0); $0.dateField = now
            },
            .correctClock(0)
        ),
    ]

    @Test(arguments: table.indices)
    func `each failure has its retry step`(_ row: Int) {
        let (name, failure, expected) = Self.table[row]
        var decision = StoreRetryDecision()
        #expect(decision.step(after: failure, now: Self.now) == expected, "\(name)")
    }

    @Test(arguments: table.indices)
    func `no retry step is repeated`(_ row: Int) {
        let (name, failure, _) = Self.table[row]
        var decision = StoreRetryDecision()
        _ = decision.step(after: failure, now: Self.now)
        guard case .stop = decision.step(after: failure, now: Self.now) else {
            Issue.record("\(name) has a second remedy")
            return
        }
    }

    @Test func `clock, token and checksum can be corrected one after another`() {
        var decision = StoreRetryDecision()
        let skew = Self.failure {
            $0.isClockError = true; $0.serverTime = Self.now + 60
        }
        #expect(decision.step(after: skew, now: Self.now) == .correctClock(60))
        #expect(decision.step(after: Self.failure { $0.status = 401 }, now: Self.now) == .refreshCredentials)
        #expect(decision.step(after: Self.failure { $0.isChecksumMismatch = true }, now: Self.now) == .sendAgain)
        #expect(decision.step(after: Self.failure(.unknown), now: Self.now) == .lookUp)
    }

    @Test func `an implausible time does not correct the clock`() {
        for seconds in [0, 1_000_000_000, 7_258_118_400] as [Double] {
            var decision = StoreRetryDecision()
            let failure = Self.failure {
                $0.isClockError = true
                $0.dateField = Date(timeIntervalSince1970: seconds)
            }
            guard case .stop(let reason?) = decision.step(after: failure, now: Self.now) else {
                Issue.record("\(seconds) was believed")
                return
            }
            #expect(reason.contains("clock"))
        }
    }

    @Test func `a body that can be read only once is not sent again, with a reason`() {
        for change in [{ $0.status = 401 }, { $0.isChecksumMismatch = true }] as [(inout Failure) -> Void] {
            var decision = StoreRetryDecision()
            var failure = Self.failure(.rejected, change)
            failure.isReplayable = false
            guard case .stop(let reason?) = decision.step(after: failure, now: Self.now) else {
                Issue.record("it would be sent again")
                return
            }
            #expect(reason.contains("once"))
        }
    }
}
