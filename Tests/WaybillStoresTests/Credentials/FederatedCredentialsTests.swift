import FoundationEssentials
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import WaybillStores

@Suite(.timeLimit(.minutes(Slowness.factor))) struct `Federated credentials` {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)

    /// A getter that returns when the test provides a result.
    private final class CredentialFetcher: Sendable {
        struct State: Sendable {
            var calls = 0
            var answers: [Result<StoreCredentials?, Refusal>] = []
        }
        let state = Observed(State())

        func get() async throws -> StoreCredentials? {
            let number = state.update { state in
                state.calls += 1
                return state.calls
            }
            await state.wait { $0.answers.count >= number }
            try Task.checkCancellation()
            return try state.value.answers[number - 1].get()
        }

        func answer(_ result: Result<StoreCredentials?, Refusal>) { state.update { $0.answers.append(result) } }
    }

    struct Refusal: Error {}

    private let fetcher = CredentialFetcher()
    private let clock = ManualClock()
    private var provider: CredentialProvider {
        CredentialProvider.federated(clock: clock) { [fetcher] in try await fetcher.get() }
    }

    private static func credentials(_ name: String, until seconds: Double) -> StoreCredentials {
        `Credential cache rules`.credentials(name, until: seconds)
    }

    @Test func `concurrent requests share one fetch`() async throws {
        let provider = provider
        let found = Self.credentials("a", until: 3_600)
        try await withThrowingTaskGroup(of: StoreCredentials.self) { group in
            for _ in 0..<50 { group.addTask { try await provider.credentials(at: Self.now, rejecting: nil) } }
            await fetcher.state.wait { $0.calls > 0 }
            fetcher.answer(.success(found))
            for try await credentials in group { #expect(credentials == found) }
        }
        #expect(fetcher.state.value.calls == 1)
    }

    @Test func `a cancelled request stops waiting, and the fetch continues for others`() async throws {
        let provider = provider
        let cancelled = Task { try await provider.credentials(at: Self.now, rejecting: nil) }
        await fetcher.state.wait { $0.calls == 1 }
        let patient = Task { try await provider.credentials(at: Self.now, rejecting: nil) }
        cancelled.cancel()
        let error = await #expect(throws: StoreError.self) { try await cancelled.value }
        #expect(error?.code == .cancelled)
        let found = Self.credentials("a", until: 3_600)
        fetcher.answer(.success(found))
        #expect(try await patient.value == found)
        #expect(fetcher.state.value.calls == 1)
    }

    @Test func `requests do not wait for a background refresh`() async throws {
        let provider = provider
        let (old, new) = (Self.credentials("a", until: 3_600), Self.credentials("b", until: 7_200))
        fetcher.answer(.success(old))
        #expect(try await provider.credentials(at: Self.now, rejecting: nil) == old)
        clock.advance(by: .seconds(3_400))
        let later = Self.now.addingTimeInterval(3_400)
        #expect(try await provider.credentials(at: later, rejecting: nil) == old)
        await fetcher.state.wait { $0.calls == 2 }
        #expect(
            try await provider.credentials(at: later, rejecting: nil) == old, "a hanging renewal does not delay callers"
        )
        fetcher.answer(.success(new))
        #expect(try await provider.credentials(at: Self.now.addingTimeInterval(3_601), rejecting: nil) == new)
        #expect(fetcher.state.value.calls == 2)
    }

    @Test func `a fetcher that returns nil is an error, and is called again after the back-off`() async throws {
        let provider = provider
        fetcher.answer(.success(nil))
        let error = await #expect(throws: StoreError.self) {
            try await provider.credentials(at: Self.now, rejecting: nil)
        }
        #expect(error?.code == .credentialsUnavailable)
        await #expect(throws: StoreError.self) { try await provider.credentials(at: Self.now, rejecting: nil) }
        #expect(fetcher.state.value.calls == 1, "the fetcher is not called within the back-off")
        clock.advance(by: .seconds(1))
        let found = Self.credentials("a", until: 3_600)
        fetcher.answer(.success(found))
        #expect(try await provider.credentials(at: Self.now.addingTimeInterval(1), rejecting: nil) == found)
    }

    @Test func `an error thrown by the fetcher is the cause`() async throws {
        let provider = provider
        fetcher.answer(.failure(Refusal()))
        let error = await #expect(throws: StoreError.self) {
            try await provider.credentials(at: Self.now, rejecting: nil)
        }
        #expect(error?.code == .credentialsUnavailable)
        #expect(error?.cause is Refusal)
    }

    @Test func `a hanging fetcher times out, and its late result is ignored`() async throws {
        let provider = provider
        let waiting = Task { try await provider.credentials(at: Self.now, rejecting: nil) }
        await fetcher.state.wait { $0.calls == 1 }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(30))
        let error = await #expect(throws: StoreError.self) { try await waiting.value }
        #expect(error?.code == .credentialsTimedOut)
        fetcher.answer(.success(Self.credentials("late", until: 9_999)))
        clock.advance(by: .seconds(1))
        let found = Self.credentials("a", until: 3_600)
        fetcher.answer(.success(found))
        #expect(try await provider.credentials(at: Self.now.addingTimeInterval(31), rejecting: nil) == found)
    }

    @Test func `a hanging refresh does not delay requests with valid credentials`() async throws {
        let provider = provider
        let old = Self.credentials("a", until: 3_600)
        fetcher.answer(.success(old))
        _ = try await provider.credentials(at: Self.now, rejecting: nil)
        clock.advance(by: .seconds(3_400))
        let later = Self.now.addingTimeInterval(3_400)
        _ = try await provider.credentials(at: later, rejecting: nil)
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(30))
        #expect(try await provider.credentials(at: later.addingTimeInterval(30), rejecting: nil) == old)
    }

    @Test func `rejected credentials are fetched again, and the same ones are an error`() async throws {
        let provider = provider
        let found = Self.credentials("a", until: 3_600)
        fetcher.answer(.success(found))
        _ = try await provider.credentials(at: Self.now, rejecting: nil)
        clock.advance(by: .seconds(60))
        fetcher.answer(.success(found))
        let error = await #expect(throws: StoreError.self) {
            try await provider.credentials(at: Self.now.addingTimeInterval(60), rejecting: found)
        }
        #expect(error?.code == .credentialsRejected)
        #expect(fetcher.state.value.calls == 2)
    }

    @Test func `the clock of the store decides what has expired`() async throws {
        let provider = provider
        let first = Self.credentials("a", until: 3_600)
        fetcher.answer(.success(first))
        // This machine is two hours behind: for the store, the credentials have expired.
        let error = await #expect(throws: StoreError.self) {
            try await provider.credentials(at: Self.now.addingTimeInterval(7_200), rejecting: nil)
        }
        #expect(error?.code == .credentialsExpired)
        clock.advance(by: .seconds(1))
        fetcher.answer(.success(first))
        #expect(try await provider.credentials(at: Self.now.addingTimeInterval(1), rejecting: nil) == first)
    }
}
