/// A stage at which an interceptor can be called.
enum InterceptorStage: Sendable {
    case compose
    case adapt
    case transform
    case judge
}

extension UploadInterceptor {
    /// Returns whether the interceptor has to be called at a stage. Built-in interceptors declare their stages;
    /// skipping a call saves a task.
    func handles(_ stage: InterceptorStage) -> Bool {
        switch self {
        case is JSONEnvelope: stage == .judge
        case let closures as ClosureInterceptor: closures.hasClosure(for: stage)
        default: true
        }
    }
}

extension ClosureInterceptor {
    fileprivate func hasClosure(for stage: InterceptorStage) -> Bool {
        switch stage {
        case .compose: composing != nil
        case .adapt: adapting != nil
        case .transform: transforming != nil
        case .judge: judging != nil
        }
    }
}
