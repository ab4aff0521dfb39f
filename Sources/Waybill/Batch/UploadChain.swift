/// Uploads one after the other, each made of the answers before it.
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
/// A step whose closure returns `nil` ends the chain there, and well. A step that fails ends it with its error. Each step has
/// the session's retries and limits for itself.
public struct UploadChain: Sendable {
    var steps: [(name: String, make: @Sendable (UploadChainResult) async throws -> UploadRequest?)]

    /// A chain with its first step.
    ///
    /// - Parameters:
    ///   - name: What results and errors call the step.
    ///   - step: Makes its request.
    public init(
        _ name: String, _ step: @escaping @Sendable (_ done: UploadChainResult) async throws -> UploadRequest?
    ) {
        steps = [(name, step)]
    }

    /// A chain that begins with this request.
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

/// What a chain has come to so far, or at its end.
public struct UploadChainResult: Sendable {
    /// A step and what became of it.
    public struct Step: Sendable {
        /// Its name.
        public var name: String
        /// The answer, or why there is none; `nil` for a step that was not started.
        public var result: Result<UploadResponse, UploadError>?
    }

    /// All steps, in order.
    public var steps: [Step]
    /// Whether a step returned no request, so that this one and those behind it were not wanted.
    public var endedEarly = false

    /// The answers, in order.
    public var responses: [UploadResponse] { steps.compactMap { try? $0.result?.get() } }

    /// The answer of a step; `nil` if it has none.
    public subscript(name: String) -> UploadResponse? {
        steps.first { $0.name == name }.flatMap { try? $0.result?.get() }
    }

    /// The step that failed and its error; `nil` if none did.
    public var failure: (step: String, error: UploadError)? {
        for step in steps {
            if case .failure(let error)? = step.result { return (step.name, error) }
        }
        return nil
    }

    /// The answers, in order.
    ///
    /// - Throws: The error of the step that failed; its message begins with the step's name.
    public func get() throws(UploadError) -> [UploadResponse] {
        if let failure { throw failure.error }
        return responses
    }
}

extension UploadSession {
    /// Runs a chain and waits for its end.
    ///
    /// Cancelling the surrounding task cancels the step on its way, and no further one is started.
    ///
    /// - Parameters:
    ///   - chain: The chain.
    ///   - onStep: Called with each step's handle when it is started.
    /// - Returns: What became of each step. Nothing is thrown: see ``UploadChainResult/get()``.
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
                error.message = "step \"\(step.name)\": " + error.message
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
            throw UploadError(.cancelled, "the chain was cancelled between two steps", phase: .cancelled)
        } catch {
            throw UploadError(
                .preparationFailed, "no request could be made of the answers so far: the cause says what the step met",
                phase: .preparing, cause: error)
        }
    }
}
