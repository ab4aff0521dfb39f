/// How one store takes the parts of an object.
protocol PartStore: Sendable {
    /// Sends a part and says what came of it. Called for several parts at once.
    func send(part number: Int, _ run: ObjectRun) async -> PartAnswer

    /// Asks which parts the store has. Only receipts that may be believed: of another checksum than ours, none.
    func listParts(_ run: ObjectRun) async throws(StoreError) -> [PartReceipt]

    /// Told of each part that the store has taken, one after the other: the moment to write it down.
    func took(_ receipt: PartReceipt) async throws(StoreError)
}

/// What came of sending a part.
enum PartAnswer: Sendable {
    /// The store took it.
    case stored(PartReceipt)
    /// It did not arrive whole; sending it again is worth a try.
    case again(StoreError)
    /// It may have been stored.
    case uncertain(StoreError)
    /// It failed for good.
    case failed(StoreError)
}

/// Does what a ``PartMachine`` says: some parts at once, each a request of its own.
struct PartPump<Store: PartStore>: Sendable {
    let store: Store
    let run: ObjectRun

    private enum Report: Sendable {
        case part(Int, PartAnswer)
        case list(Result<[PartReceipt], StoreError>)
    }

    /// Sends every part that is not listed.
    ///
    /// - Returns: The receipts of all parts in their order.
    /// - Throws: The first error that ended it; ``StoreError/Code/cancelled`` when the task was cancelled.
    func send(_ plan: PartPlan, listed: [PartReceipt], atOnce: Int) async throws(StoreError) -> [PartReceipt] {
        var machine = PartMachine(plan: plan, listed: listed, atOnce: atOnce)
        run.settle(bytes: machine.storedBytes)
        let result: Result<[PartReceipt], StoreError> = await withTaskGroup(of: Report.self) { group in
            var error: StoreError?
            var actions = machine.start()
            while true {
                for action in actions {
                    switch action {
                    case .send(let number):
                        group.addTask { .part(number, await store.send(part: number, run)) }
                    case .list:
                        group.addTask {
                            .list(await Result { () async throws(StoreError) in try await store.listParts(run) })
                        }
                    case .stop: group.cancelAll()
                    case .complete(let receipts): return .success(receipts)
                    case .giveUp: return .failure(error ?? Self.cancelled)
                    }
                }
                guard let report = await group.next() else { return .failure(error ?? Self.cancelled) }
                let (event, failure) = await event(of: report, plan)
                if case .listed = event {
                    // What was found counts too, not only what was sent.
                    let before = machine.storedBytes
                    actions = machine.handle(event)
                    run.settle(bytes: machine.storedBytes - before)
                } else {
                    actions = machine.handle(event)
                }
                // The one that made it stop; what follows is its echo. One that is repeated ends nothing.
                if machine.isStopping, error == nil { error = failure }
            }
        }
        return try result.get()
    }

    private func event(of report: Report, _ plan: PartPlan) async -> (PartMachine.Event, StoreError?) {
        switch report {
        case .part(_, .stored(let receipt)):
            do throws(StoreError) {
                try await store.took(receipt)
                return (.stored(receipt), nil)
            } catch {
                return (.failed(receipt.number), error)
            }
        case .part(let number, .again(let error)): return (.again(number), error.about(part: number))
        case .part(let number, .uncertain(let error)): return (.uncertain(number), error.about(part: number))
        case .part(let number, .failed(let error)): return (.failed(number), error.about(part: number))
        case .list(.success(let receipts)): return (.listed(receipts), nil)
        case .list(.failure(let error)): return (.listingFailed, error)
        }
    }

    private static var cancelled: StoreError { StoreError(.cancelled, "the upload was cancelled") }
}

extension StoreError {
    /// The same error, about a part.
    func about(part number: Int) -> StoreError {
        var error = self
        error.part = error.part ?? number
        return error
    }
}

extension Result {
    /// What an asynchronous call gives or throws.
    init(_ work: () async throws(Failure) -> Success) async {
        do throws(Failure) {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
