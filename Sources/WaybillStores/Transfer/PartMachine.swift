/// The life of an object that goes up in parts: events in, actions out. No clock, no task, no network.
///
/// What it holds to, whatever order events come in: a part that the store listed is never sent again; a part is in flight
/// at most once; no more are in flight than allowed; what may have been stored is looked up before it is repeated, and
/// repeated once at most; there is one end, and nothing is sent after it.
///
/// ```text
///             ┌────────── again, or looked up and not there ──────────┐
///             ▼                                                       │
///          missing ──send──▶ in flight ──may be stored──▶ in doubt ───┘
///                               │ stored                     │ looked up and there
///                               ▼                            ▼
///                              done ◀────────────────────────┘
/// ```
struct PartMachine: Sendable {
    /// Something that happened.
    enum Event: Sendable, Hashable {
        /// The store took a part.
        case stored(PartReceipt)
        /// A part did not arrive whole, and sending it again is worth a try.
        case again(Int)
        /// Nobody knows whether a part was stored.
        case uncertain(Int)
        /// A part failed for good.
        case failed(Int)
        /// What the store has.
        case listed([PartReceipt])
        /// The store could not be asked what it has.
        case listingFailed
        /// Nothing more is wanted.
        case cancelled
    }

    /// Something to be done.
    enum Action: Sendable, Hashable {
        /// Send a part.
        case send(Int)
        /// Ask the store what it has.
        case list
        /// Stop what is in flight; its ends are still awaited.
        case stop
        /// All parts are stored: the receipts, in the order of the parts.
        case complete([PartReceipt])
        /// It is over without all parts: why the caller knows from the event that led here.
        case giveUp
    }

    let plan: PartPlan
    private let atOnce: Int
    private(set) var done: [Int: PartReceipt] = [:]
    private(set) var inFlight: Set<Int> = []
    private(set) var inDoubt: Set<Int> = []
    private var isListing = false
    private var repeated: Set<Int> = []
    private var doubted: Set<Int> = []
    // Numbers that were never sent come from the counter, so that ten thousand parts are not a sorted set.
    private var nextFresh = 1
    private var toRepeat: [Int] = []
    /// Whether it came to a failure, and only waits for what is in flight.
    private(set) var isStopping = false
    private var isOver = false

    /// A machine that knows what the store has already. Of parts with another size than the plan's nothing is believed.
    init(plan: PartPlan, listed: [PartReceipt] = [], atOnce: Int) {
        self.plan = plan
        self.atOnce = max(1, atOnce)
        for receipt in listed where fits(receipt) { done[receipt.number] = receipt }
    }

    /// What is to be done first.
    mutating func start() -> [Action] { goOn() }

    /// What is to be done after an event.
    mutating func handle(_ event: Event) -> [Action] {
        guard !isOver else { return [] }
        switch event {
        case .stored(let receipt):
            guard inFlight.remove(receipt.number) != nil else { return [] }
            if fits(receipt) {
                done[receipt.number] = receipt
                return goOn()
            }
            return stop()
        case .again(let number):
            guard inFlight.remove(number) != nil else { return [] }
            guard repeated.insert(number).inserted else { return stop() }
            toRepeat.append(number)
            return goOn()
        case .uncertain(let number):
            guard inFlight.remove(number) != nil else { return [] }
            guard doubted.insert(number).inserted else { return stop() }
            inDoubt.insert(number)
            return goOn()
        case .failed(let number):
            guard inFlight.remove(number) != nil else { return [] }
            return stop()
        case .listed(let receipts):
            guard isListing else { return [] }
            isListing = false
            settleDoubts(receipts)
            return goOn()
        case .listingFailed:
            guard isListing else { return [] }
            isListing = false
            return stop()
        case .cancelled: return stop()
        }
    }

    /// The bytes of all parts that the store has.
    var storedBytes: Int64 { done.keys.reduce(0) { $0 + plan.size(of: $1) } }

    private func fits(_ receipt: PartReceipt) -> Bool {
        plan.numbers.contains(receipt.number) && receipt.size == plan.size(of: receipt.number)
    }

    private mutating func settleDoubts(_ receipts: [PartReceipt]) {
        let listed = Dictionary(receipts.filter(fits).map { ($0.number, $0) }) { first, _ in first }
        for number in inDoubt.sorted() {
            if let receipt = listed[number] { done[number] = receipt } else { toRepeat.append(number) }
        }
        inDoubt = []
    }

    private mutating func stop() -> [Action] {
        let isFirst = !isStopping
        isStopping = true
        guard inFlight.isEmpty, !isListing else { return isFirst ? [.stop] : [] }
        isOver = true
        return [.giveUp]
    }

    private mutating func goOn() -> [Action] {
        guard !isStopping else { return stop() }
        if done.count == plan.count {
            isOver = true
            return [.complete(done.values.sorted { $0.number < $1.number })]
        }
        var actions: [Action] = []
        while inFlight.count < atOnce, let number = nextMissing() {
            inFlight.insert(number)
            actions.append(.send(number))
        }
        // One look settles all doubts, so it waits until there is nothing else to do.
        if inFlight.isEmpty, !inDoubt.isEmpty, !isListing {
            isListing = true
            actions.append(.list)
        }
        return actions
    }

    private mutating func nextMissing() -> Int? {
        if !toRepeat.isEmpty { return toRepeat.removeFirst() }
        while nextFresh <= plan.count {
            defer { nextFresh += 1 }
            if done[nextFresh] == nil { return nextFresh }
        }
        return nil
    }
}
