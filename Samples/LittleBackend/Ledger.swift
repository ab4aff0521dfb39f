import WaybillTesting

/// What a form has brought about, once.
public struct Effect: Sendable, Hashable {
    /// Its place among all effects, from 1.
    public var number: Int
    /// The `BUSINESSNO` of the form.
    public var business: String
    /// The `DOCTYPE` of the form.
    public var document: String
    /// SHA-256 of the part `FILE`, in hexadecimal digits.
    public var fileDigest: String
    /// The bytes of that part.
    public var fileSize: Int
}

/// What a backend has seen.
public struct Books: Sendable {
    /// A request whose body is arriving.
    public struct Arrival: Sendable, Hashable {
        /// The bytes that are there.
        public var bytes: Int
        /// The bytes that were announced.
        public var total: Int
    }

    /// Requests that came, whatever became of them.
    public var requests = 0
    /// Bodies that broke off in the middle.
    public var broken = 0
    /// Bodies that came to their end.
    public var whole = 0
    /// Bodies that had been booked before, so that the answer was given once more.
    public var replays = 0
    /// What was booked, in order.
    public var effects: [Effect] = []
    /// What is arriving.
    public var arriving: [Arrival] = []
}

/// Keeps the books, and wakes those who wait for something to stand in them.
actor Ledger {
    enum Entry {
        case booked(Effect)
        case known(Effect)
        case otherBody
    }

    private(set) var books = Books()
    private var entries: [String: (body: String, effect: Effect)] = [:]
    private var arrivals: [Int: Books.Arrival] = [:]
    private var held: Int?
    private var waiting: [(isSo: @Sendable (Books) -> Bool, continuation: CheckedContinuation<Books, Never>)] = []
    private var heldBack: [CheckedContinuation<Void, Never>] = []

    func begin(total: Int) -> Int {
        books.requests += 1
        arrivals[books.requests] = Books.Arrival(bytes: 0, total: total)
        changed()
        return books.requests
    }

    func received(_ arrival: Int, _ bytes: Int) {
        arrivals[arrival]?.bytes = bytes
        changed()
    }

    func broken(_ arrival: Int) {
        arrivals[arrival] = nil
        books.broken += 1
        changed()
    }

    func whole(_ arrival: Int) {
        arrivals[arrival] = nil
        books.whole += 1
        changed()
    }

    /// Looks a key up and books the form if it is new: in one step, so that two of a key never pass each other.
    func book(_ form: RecordedForm, key: String, body: String) -> Entry {
        if let entry = entries[key] {
            guard entry.body == body else { return .otherBody }
            books.replays += 1
            changed()
            return .known(entry.effect)
        }
        let file = (try? form.part("FILE"))?.bytes ?? []
        let effect = Effect(
            number: books.effects.count + 1, business: (try? form.text("BUSINESSNO")) ?? "",
            document: (try? form.text("DOCTYPE")) ?? "", fileDigest: digest(file), fileSize: file.count)
        entries[key] = (body, effect)
        books.effects.append(effect)
        changed()
        return .booked(effect)
    }

    func hold(_ number: Int?) {
        held = number
        for continuation in heldBack { continuation.resume() }
        heldBack = []
    }

    func untilReleased(_ number: Int) async {
        guard number == held else { return }
        await withCheckedContinuation { heldBack.append($0) }
    }

    func wait(until isSo: @escaping @Sendable (Books) -> Bool) async -> Books {
        if isSo(books) { return books }
        return await withCheckedContinuation { waiting.append((isSo, $0)) }
    }

    private func changed() {
        books.arriving = Array(arrivals.values)
        for entry in waiting where entry.isSo(books) { entry.continuation.resume(returning: books) }
        waiting.removeAll { $0.isSo(books) }
    }
}
