/// One of the calls that an interceptor can get.
enum InterceptorStage: Sendable {
    case compose
    case adapt
    case transform
    case judge
}

extension UploadInterceptor {
    /// Whether the interceptor has to be called at a stage. Of Waybill's own it is known where they do nothing; each call that
    /// is left out saves a task.
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
