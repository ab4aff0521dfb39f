/// The state machine of a multipart upload. Takes events and returns actions; has no clock, tasks or network.
///
/// Invariants for any order of events: a part that the store listed is never sent again; a part is in flight at most
/// once; at most the allowed number of parts is in flight; a part that may have been stored is looked up before it is
/// repeated, and repeated at most once; there is exactly one end, and nothing is sent after it.
///
/// ```text
///             ┌──────── corrupted, or looked up and not there ────────┐
///             ▼                                                       │
///          missing ──send──▶ in flight ──may be stored──▶ in doubt ───┘
///                               │ stored                     │ looked up and there
///                               ▼                            ▼
///                              done ◀────────────────────────┘
/// ```
struct MultipartStateMachine: Sendable {
    /// An input of the state machine.
    enum Event: Sendable, Hashable {
        /// The store accepted a part.
        case stored(PartReceipt)
        /// A part arrived damaged, and sending it again can help.
        case corrupted(Int)
        /// It is unknown whether a part was stored.
        case uncertain(Int)
        /// A part failed permanently.
        case failed(Int)
        /// The store listed its parts.
        case listed([PartReceipt])
        /// Listing the parts failed.
        case listingFailed
        /// The upload was cancelled.
        case cancelled
    }

    /// An output of the state machine.
    enum Action: Sendable, Hashable {
        /// Send a part.
        case send(Int)
        /// List the parts at the store.
        case list
        /// Cancel what is in flight; its results are still awaited.
        case stop
        /// Complete the upload: all parts are stored. The receipts are in the order of the parts.
        case complete([PartReceipt])
        /// Fail. The caller knows the reason from the event that led here.
        case fail
    }

    let plan: PartPlan
    private let maximumConcurrentParts: Int
    private(set) var done: [Int: PartReceipt] = [:]
    private(set) var inFlight: Set<Int> = []
    private(set) var inDoubt: Set<Int> = []
    private var isListing = false
    private var retried: Set<Int> = []
    private var wereInDoubt: Set<Int> = []
    // The counter yields the parts that were never sent, which avoids a sorted set of 10,000 numbers.
    private var nextUnsent = 1
    private var pendingRetries: [Int] = []
    /// Whether the upload has failed and only waits for what is in flight.
    private(set) var isStopping = false
    private var hasEnded = false

    /// Creates a state machine with the parts that the store has. Parts whose size differs from the plan are ignored.
    init(plan: PartPlan, listed: [PartReceipt] = [], maximumConcurrentParts: Int) {
        self.plan = plan
        self.maximumConcurrentParts = max(1, maximumConcurrentParts)
        for receipt in listed where fits(receipt) { done[receipt.number] = receipt }
    }

    /// Returns the first actions.
    mutating func start() -> [Action] { nextActions() }

    /// Returns the actions that follow an event.
    mutating func handle(_ event: Event) -> [Action] {
        guard !hasEnded else { return [] }
        switch event {
        case .stored(let receipt):
            guard inFlight.remove(receipt.number) != nil else { return [] }
            if fits(receipt) {
                done[receipt.number] = receipt
                return nextActions()
            }
            return stop()
        case .corrupted(let number):
            guard inFlight.remove(number) != nil else { return [] }
            guard retried.insert(number).inserted else { return stop() }
            pendingRetries.append(number)
            return nextActions()
        case .uncertain(let number):
            guard inFlight.remove(number) != nil else { return [] }
            guard wereInDoubt.insert(number).inserted else { return stop() }
            inDoubt.insert(number)
            return nextActions()
        case .failed(let number):
            guard inFlight.remove(number) != nil else { return [] }
            return stop()
        case .listed(let receipts):
            guard isListing else { return [] }
            isListing = false
            resolveInDoubt(receipts)
            return nextActions()
        case .listingFailed:
            guard isListing else { return [] }
            isListing = false
            return stop()
        case .cancelled: return stop()
        }
    }

    /// The number of bytes in all stored parts.
    var storedBytes: Int64 { done.keys.reduce(0) { $0 + plan.size(of: $1) } }

    private func fits(_ receipt: PartReceipt) -> Bool {
        plan.numbers.contains(receipt.number) && receipt.size == plan.size(of: receipt.number)
    }

    private mutating func resolveInDoubt(_ receipts: [PartReceipt]) {
        let listed = Dictionary(receipts.filter(fits).map { ($0.number, $0) }) { first, _ in first }
        for number in inDoubt.sorted() {
            if let receipt = listed[number] { done[number] = receipt } else { pendingRetries.append(number) }
        }
        inDoubt = []
    }

    private mutating func stop() -> [Action] {
        let isFirst = !isStopping
        isStopping = true
        guard inFlight.isEmpty, !isListing else { return isFirst ? [.stop] : [] }
        hasEnded = true
        return [.fail]
    }

    private mutating func nextActions() -> [Action] {
        guard !isStopping else { return stop() }
        if done.count == plan.count {
            hasEnded = true
            return [.complete(done.values.sorted { $0.number < $1.number })]
        }
        var actions: [Action] = []
        while inFlight.count < maximumConcurrentParts, let number = nextMissing() {
            inFlight.insert(number)
            actions.append(.send(number))
        }
        // A single list resolves all doubtful parts, so it is requested when nothing else is left to do.
        if inFlight.isEmpty, !inDoubt.isEmpty, !isListing {
            isListing = true
            actions.append(.list)
        }
        return actions
    }

    private mutating func nextMissing() -> Int? {
        if !pendingRetries.isEmpty { return pendingRetries.removeFirst() }
        while nextUnsent <= plan.count {
            defer { nextUnsent += 1 }
            if done[nextUnsent] == nil { return nextUnsent }
        }
        return nil
    }
}
