/// The multipart protocol of a store.
protocol MultipartProtocol: Sendable {
    /// Sends a part and returns the result. Called concurrently for several parts.
    func send(part number: Int, _ run: ObjectRun) async -> PartResult

    /// Returns the parts at the store. A part whose checksum differs from the local one must be left out.
    func listParts(_ run: ObjectRun) async throws(StoreError) -> [PartReceipt]

    /// Called for each part that the store has accepted, one at a time, so that it can be recorded.
    func didStore(_ receipt: PartReceipt) async throws(StoreError)
}

/// The result of sending a part.
enum PartResult: Sendable {
    /// The store accepted the part.
    case stored(PartReceipt)
    /// The part arrived damaged, and sending it again can help.
    case corrupted(StoreError)
    /// The part may have been stored.
    case uncertain(StoreError)
    /// The part failed permanently.
    case failed(StoreError)
}

/// Performs the actions of a ``MultipartStateMachine`` by sending parts concurrently, each as its own request.
struct MultipartSender<Store: MultipartProtocol>: Sendable {
    let store: Store
    let run: ObjectRun

    private enum Report: Sendable {
        case part(Int, PartResult)
        case list(Result<[PartReceipt], StoreError>)
    }

    /// Sends every part that is not listed.
    ///
    /// - Returns: The receipts of all parts in order.
    /// - Throws: The first error that ended the upload; ``StoreError/Code/cancelled`` if the task was cancelled.
    func send(_ plan: PartPlan, listed: [PartReceipt], maximumConcurrentParts: Int) async throws(StoreError)
        -> [PartReceipt]
    {
        var machine = MultipartStateMachine(plan: plan, listed: listed, maximumConcurrentParts: maximumConcurrentParts)
        run.addStored(bytes: machine.storedBytes)
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
                    case .fail: return .failure(error ?? Self.cancelled)
                    }
                }
                guard let report = await group.next() else { return .failure(error ?? Self.cancelled) }
                let (event, failure) = await event(of: report, plan)
                if case .listed = event {
                    // Count the parts that were found by listing, too.
                    let before = machine.storedBytes
                    actions = machine.handle(event)
                    run.addStored(bytes: machine.storedBytes - before)
                } else {
                    actions = machine.handle(event)
                }
                // Report the error that caused the stop: later ones are consequences, and a repeated part is not an
                // error.
                if machine.isStopping, error == nil { error = failure }
            }
        }
        return try result.get()
    }

    private func event(of report: Report, _ plan: PartPlan) async -> (MultipartStateMachine.Event, StoreError?) {
        switch report {
        case .part(_, .stored(let receipt)):
            do throws(StoreError) {
                try await store.didStore(receipt)
                return (.stored(receipt), nil)
            } catch {
                return (.failed(receipt.number), error)
            }
        case .part(let number, .corrupted(let error)): return (.corrupted(number), error.about(part: number))
        case .part(let number, .uncertain(let error)): return (.uncertain(number), error.about(part: number))
        case .part(let number, .failed(let error)): return (.failed(number), error.about(part: number))
        case .list(.success(let receipts)): return (.listed(receipts), nil)
        case .list(.failure(let error)): return (.listingFailed, error)
        }
    }

    private static var cancelled: StoreError { StoreError(.cancelled, "The upload was cancelled.") }
}

extension StoreError {
    /// Returns the error with a part number.
    func about(part number: Int) -> StoreError {
        var error = self
        error.part = error.part ?? number
        return error
    }
}

extension Result {
    /// Creates the result of an asynchronous closure.
    init(_ work: () async throws(Failure) -> Success) async {
        do throws(Failure) {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
