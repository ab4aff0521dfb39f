import WaybillTesting

/// The effect of an accepted form. Each idempotency key has one.
public struct Effect: Sendable, Hashable {
    /// The position among all effects, from 1.
    public var number: Int
    /// The field `BUSINESSNO` of the form.
    public var business: String
    /// The field `DOCTYPE` of the form.
    public var document: String
    /// The SHA-256 of the part `FILE`, in hexadecimal digits.
    public var fileDigest: String
    /// The size of that part in bytes.
    public var fileSize: Int
}

/// The counters and effects of a backend at one point in time.
public struct BackendSnapshot: Sendable {
    /// A request whose body is being received.
    public struct Arrival: Sendable, Hashable {
        /// The number of bytes received so far.
        public var bytes: Int
        /// The `Content-Length` of the request.
        public var total: Int
    }

    /// The number of requests, including failed ones.
    public var requests = 0
    /// The number of bodies that were truncated.
    public var truncated = 0
    /// The number of bodies that were received completely.
    public var complete = 0
    /// The number of complete bodies with a known key, whose response was repeated.
    public var replays = 0
    /// The effects, in order.
    public var effects: [Effect] = []
    /// The requests whose bodies are being received.
    public var arriving: [Arrival] = []
}

/// Records requests and effects, and resumes callers that wait for a condition.
actor BackendState {
    enum Outcome {
        case recorded(Effect)
        case replayed(Effect)
        case differentBody
    }

    private struct Waiter {
        let condition: @Sendable (BackendSnapshot) -> Bool
        let continuation: CheckedContinuation<BackendSnapshot, Never>
    }

    private(set) var snapshot = BackendSnapshot()
    private var entries: [String: (body: String, effect: Effect)] = [:]
    private var arrivals: [Int: BackendSnapshot.Arrival] = [:]
    private var delayed: Int?
    private var waiters: [Waiter] = []
    private var delayedResponses: [CheckedContinuation<Void, Never>] = []

    func begin(total: Int) -> Int {
        snapshot.requests += 1
        arrivals[snapshot.requests] = BackendSnapshot.Arrival(bytes: 0, total: total)
        changed()
        return snapshot.requests
    }

    func received(_ arrival: Int, _ bytes: Int) {
        arrivals[arrival]?.bytes = bytes
        changed()
    }

    func truncated(_ arrival: Int) {
        arrivals[arrival] = nil
        snapshot.truncated += 1
        changed()
    }

    func complete(_ arrival: Int) {
        arrivals[arrival] = nil
        snapshot.complete += 1
        changed()
    }

    /// Records the effect of a form unless its key is known. Lookup and insertion are one step on the actor, so
    /// two concurrent requests with one key have one effect.
    func record(_ form: RecordedForm, key: String, body: String) -> Outcome {
        if let entry = entries[key] {
            guard entry.body == body else { return .differentBody }
            snapshot.replays += 1
            changed()
            return .replayed(entry.effect)
        }
        let file = (try? form.part("FILE"))?.bytes ?? []
        let effect = Effect(
            number: snapshot.effects.count + 1, business: (try? form.text("BUSINESSNO")) ?? "",
            document: (try? form.text("DOCTYPE")) ?? "", fileDigest: digest(file), fileSize: file.count)
        entries[key] = (body, effect)
        snapshot.effects.append(effect)
        changed()
        return .recorded(effect)
    }

    func delay(_ number: Int?) {
        delayed = number
        for continuation in delayedResponses { continuation.resume() }
        delayedResponses = []
    }

    func waitWhileDelayed(_ number: Int) async {
        guard number == delayed else { return }
        await withCheckedContinuation { delayedResponses.append($0) }
    }

    func wait(until condition: @escaping @Sendable (BackendSnapshot) -> Bool) async -> BackendSnapshot {
        if condition(snapshot) { return snapshot }
        return await withCheckedContinuation { waiters.append(Waiter(condition: condition, continuation: $0)) }
    }

    private func changed() {
        snapshot.arriving = Array(arrivals.values)
        for waiter in waiters where waiter.condition(snapshot) { waiter.continuation.resume(returning: snapshot) }
        waiters.removeAll { $0.condition(snapshot) }
    }
}
