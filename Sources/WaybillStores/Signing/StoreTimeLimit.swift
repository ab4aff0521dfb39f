import Waybill

/// Runs external code with a time limit, and converts its errors into errors of this module.
enum StoreTimeLimit {
    /// Returns the result of `work`.
    ///
    /// - Throws: The error of `work` if it is a ``StoreError``; otherwise an error with the code `failing` and that
    ///   error as the cause; an error with the code `late` after `limit`; ``StoreError/Code/cancelled`` immediately
    ///   when the task is cancelled.
    static func run<Value: Sendable>(
        _ limit: Duration, clock: any Clock<Duration>, failing: StoreError.Code, late: StoreError.Code? = nil,
        _ name: String, _ work: @escaping @Sendable () async throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await TimeLimit.run(limit, clock: clock, work)
        } catch let error as StoreError {
            throw error
        } catch is TimeLimit.TimeoutError {
            throw StoreError(
                late ?? failing,
                "\(name) exceeded the time limit of \(limit). Check why it hangs, or increase the limit.")
        } catch is CancellationError where Task.isCancelled {
            throw StoreError(.cancelled, "\(name) was cancelled.")
        } catch {
            throw StoreError(
                failing, "\(name) failed with an error of type \(type(of: error)). See the underlying error.",
                cause: error)
        }
    }
}
