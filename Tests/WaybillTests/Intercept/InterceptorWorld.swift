import HTTPTypes
import TestSupport
import WaybillCore
import WaybillTesting

@testable import Waybill

struct Refusal: Error, Equatable {
    var number = 1
}

extension SessionWorld {
    static func intercepted(
        _ interceptors: [any UploadInterceptor], _ scripts: [TransferScript] = [.responding(.ok)],
        retry: RetryPolicy = .none, configure: (inout UploadSession.Configuration) -> Void = { _ in }
    ) -> (session: UploadSession, transport: ScriptedTransport, clock: ManualClock) {
        let clock = ManualClock()
        let transport = ScriptedTransport(scripts)
        var configuration = UploadSession.Configuration()
        configuration.clock = clock
        configuration.jitter = { 0 }
        configuration.options.retry = retry
        configuration.interceptors = interceptors
        configure(&configuration)
        return (UploadSession(configuration: configuration, transport: transport), transport, clock)
    }
}

/// Waits until it is released and ignores cancellation. Each test must release it at its end: a task that waits
/// indefinitely is never freed.
final class UncancellableWait: Sendable {
    private struct State {
        var isReleased = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())
    /// The number of calls that have begun to wait.
    let entered = Watched(0)

    func wait() async {
        await withCheckedContinuation { continuation in
            let isReleased = state.withLock { state in
                if !state.isReleased { state.waiters.append(continuation) }
                return state.isReleased
            }
            entered.update { $0 += 1 }
            if isReleased { continuation.resume() }
        }
    }

    func release() {
        let waiters = state.withLock { state in
            state.isReleased = true
            defer { state.waiters = [] }
            return state.waiters
        }
        waiters.forEach { $0.resume() }
    }
}

/// Does not return before it is released.
struct HangingInterceptor: UploadInterceptor {
    let name = "sleepy"
    let hang = UncancellableWait()

    func adapt(_ request: inout OutgoingRequest) async throws { await hang.wait() }
}
