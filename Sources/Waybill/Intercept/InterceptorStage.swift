/// A place at which an interceptor is asked.
enum InterceptorStage: Sendable {
    case compose
    case adapt
    case transform
    case judge
}

/// An interceptor of Waybill's own, of which is known what it leaves alone: that saves a task, and often a hop, each time.
protocol StagedInterceptor: UploadInterceptor {
    /// Whether it has anything to say there.
    func speaks(at stage: InterceptorStage) -> Bool
}

extension JSONEnvelope: StagedInterceptor {
    func speaks(at stage: InterceptorStage) -> Bool { stage == .judge }
}

extension ClosureInterceptor: StagedInterceptor {
    func speaks(at stage: InterceptorStage) -> Bool {
        switch stage {
        case .compose: composing != nil
        case .adapt: adapting != nil
        case .transform: transforming != nil
        case .judge: judging != nil
        }
    }
}

extension InterceptorChain {
    /// Those that may have something to say at a stage, in order.
    func speakers(at stage: InterceptorStage) -> [any UploadInterceptor] {
        interceptors.filter { ($0 as? any StagedInterceptor)?.speaks(at: stage) ?? true }
    }

    /// Whether anybody may.
    func speaks(at stage: InterceptorStage) -> Bool {
        interceptors.contains { ($0 as? any StagedInterceptor)?.speaks(at: stage) ?? true }
    }
}
