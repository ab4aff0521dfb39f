/// Runs work on many inputs, several at a time, and delivers the results in the order of the inputs.
struct OrderedWork {
    /// The maximum number of inputs that are started but not delivered.
    let window: Int

    /// Runs the work.
    ///
    /// - Parameters:
    ///   - inputs: The inputs.
    ///   - work: The work for each input.
    ///   - deliver: Receives each result. If it throws, running work is cancelled, and nothing more is delivered.
    /// - Throws: The error of `deliver`.
    func run<Input: Sendable, Output: Sendable>(
        _ inputs: [Input], work: @escaping @Sendable (Input) async -> Output,
        deliver: (Output) throws(CommandFailure) -> Void
    ) async throws(CommandFailure) {
        let failure = await withTaskGroup(of: (Int, Output).self, returning: CommandFailure?.self) { group in
            var started = 0
            var delivered = 0
            var waiting: [Int: Output] = [:]
            func startSome() {
                while started < inputs.count, started < delivered + window {
                    let (index, input) = (started, inputs[started])
                    group.addTask { (index, await work(input)) }
                    started += 1
                }
            }
            startSome()
            while let (index, output) = await group.next() {
                waiting[index] = output
                do throws(CommandFailure) {
                    while let output = waiting.removeValue(forKey: delivered) {
                        try deliver(output)
                        delivered += 1
                    }
                } catch {
                    group.cancelAll()
                    return error
                }
                startSome()
            }
            return nil
        }
        if let failure { throw failure }
    }
}
