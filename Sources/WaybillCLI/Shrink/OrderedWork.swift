/// Work on many things, a few at a time, whose results are handed on in the order of the things.
struct OrderedWork {
    /// How many are begun and not handed on at most.
    let window: Int

    /// Runs the work.
    ///
    /// - Parameters:
    ///   - inputs: The things.
    ///   - work: What is done with each.
    ///   - take: Gets each result. When it throws, what runs is cancelled, and nothing more is begun or handed on.
    /// - Throws: What `take` throws.
    func run<Input: Sendable, Output: Sendable>(
        _ inputs: [Input], work: @escaping @Sendable (Input) async -> Output,
        take: (Output) throws(CommandFailure) -> Void
    ) async throws(CommandFailure) {
        let failure = await withTaskGroup(of: (Int, Output).self, returning: CommandFailure?.self) { group in
            var started = 0
            var taken = 0
            var waiting: [Int: Output] = [:]
            func startSome() {
                while started < inputs.count, started < taken + window {
                    let (index, input) = (started, inputs[started])
                    group.addTask { (index, await work(input)) }
                    started += 1
                }
            }
            startSome()
            while let (index, output) = await group.next() {
                waiting[index] = output
                do throws(CommandFailure) {
                    while let output = waiting.removeValue(forKey: taken) {
                        try take(output)
                        taken += 1
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
