import HTTPTypes
import TestSupport
import WaybillCore
import WaybillTesting

@testable import Waybill

struct Refusal: Error, Equatable {
    var number = 1
}

extension SessionWorld {
    /// A world with interceptors.
    static func intercepted(
        _ interceptors: [any UploadInterceptor], _ scripts: [TransferScript] = [.answering(.ok)],
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

/// Never comes back, and is deaf to a cancel as well.
struct Hanging: UploadInterceptor {
    let name = "sleepy"
    let entered = Watched(0)

    func adapt(_ request: inout OutgoingRequest) async throws {
        entered.update { $0 += 1 }
        unsafe await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }
}
