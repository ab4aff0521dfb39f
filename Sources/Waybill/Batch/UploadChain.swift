/// A sequence of uploads in which each request can use the responses to the previous ones.
///
/// ```swift
/// var chain = UploadChain("front") { _ in UploadRequest(.post, url, content: .form(front)) }
/// chain.then("back") { _ in UploadRequest(.post, url, content: .form(back)) }
/// chain.then("submit") { done in
///     let ids = try done.responses.map { try $0.decode(Receipt.self).id }
///     return UploadRequest(.post, submitURL, content: .form(["IDS": ids.joined(separator: ",")]))
/// }
/// let responses = try await session.run(chain).responses
/// ```
///
/// If the closure of a step returns `nil`, the chain ends successfully at that step. If a step fails, the chain ends
/// with its error. The session's retries and limits apply to each step separately.
public struct UploadChain: Sendable {
    var steps: [(name: String, make: @Sendable (UploadChainResult) async throws -> UploadRequest?)]

    /// Creates a chain with its first step.
    ///
    /// - Parameters:
    ///   - name: The name of the step in results and errors.
    ///   - step: Creates the request of the step.
    public init(
        _ name: String, _ step: @escaping @Sendable (_ done: UploadChainResult) async throws -> UploadRequest?
    ) {
        steps = [(name, step)]
    }

    /// Creates a chain that begins with the given request.
    public init(_ name: String, _ request: UploadRequest) {
        self.init(name) { _ in request }
    }

    /// Adds a step.
    public mutating func then(
        _ name: String, _ step: @escaping @Sendable (_ done: UploadChainResult) async throws -> UploadRequest?
    ) {
        steps.append((name, step))
    }

    /// The names of the steps, in order.
    public var names: [String] { steps.map(\.name) }
}

/// The result of a chain, or of its completed steps.
public struct UploadChainResult: Sendable {
    /// A step and its result.
    public struct Step: Sendable {
        /// The name of the step.
        public var name: String
        /// The response or error of the step; `nil` if the step was not started.
        public var result: Result<UploadResponse, UploadError>?
    }

    /// All steps, in order.
    public var steps: [Step]
    /// Whether a step returned no request and thereby ended the chain early.
    public var endedEarly = false

    /// The responses, in order.
    public var responses: [UploadResponse] { steps.compactMap { try? $0.result?.get() } }

    /// Returns the response of a step; `nil` if it has none.
    public subscript(name: String) -> UploadResponse? {
        steps.first { $0.name == name }.flatMap { try? $0.result?.get() }
    }

    /// The name and error of the step that failed; `nil` if all succeeded.
    public var failure: (step: String, error: UploadError)? {
        for step in steps {
            if case .failure(let error)? = step.result { return (step.name, error) }
        }
        return nil
    }

    /// Returns the responses, in order.
    ///
    /// - Throws: The error of the step that failed. Its message begins with the name of the step.
    public func get() throws(UploadError) -> [UploadResponse] {
        if let failure { throw failure.error }
        return responses
    }
}

extension UploadSession {
    /// Runs a chain and waits for its end.
    ///
    /// Cancelling the surrounding task cancels the current step, and no further step is started.
    ///
    /// - Parameters:
    ///   - chain: The chain.
    ///   - onStep: Called with the handle of each step when it is started.
    /// - Returns: The result of each step. This method does not throw: see ``UploadChainResult/get()``.
    public func run(
        _ chain: UploadChain, onStep: (@Sendable (_ name: String, _ task: UploadTask) -> Void)? = nil
    ) async -> UploadChainResult {
        var done = UploadChainResult(steps: chain.steps.map { UploadChainResult.Step(name: $0.name) })
        for (index, step) in chain.steps.enumerated() {
            do throws(UploadError) {
                guard let request = try await Self.request(of: step.make, done) else {
                    done.endedEarly = true
                    return done
                }
                let task = core.start(request, isCancelled: Task.isCancelled)
                onStep?(step.name, task)
                done.steps[index].result = .success(try await task.response)
            } catch {
                var error = error
                error.message = "Step \"\(step.name)\" failed. " + error.message
                done.steps[index].result = .failure(error)
                return done
            }
        }
        return done
    }

    private static func request(
        of step: @Sendable (UploadChainResult) async throws -> UploadRequest?, _ done: UploadChainResult
    ) async throws(UploadError) -> UploadRequest? {
        do {
            return try await step(done)
        } catch let error as UploadError {
            throw error
        } catch is CancellationError {
            throw UploadError(.cancelled, "The chain was cancelled between two steps.", phase: .cancelled)
        } catch {
            throw UploadError(
                .preparationFailed, "The closure of the step failed to create its request. See the cause.",
                phase: .preparing, cause: error)
        }
    }
}
