import WaybillCore

// What the handles of an upload want, and how one of them goes.

extension UploadRun {
    /// A handle comes; `nil` when the upload is over or about to be.
    func join(priority: UploadPriority, isPaused: Bool, word: Int) -> Int? {
        state.withLock { state in
            guard !state.isAbandoned, state.result == nil else { return nil }
            return state.book.join(priority: priority, isPaused: isPaused, word: word)
        }
    }

    /// The handles that are there, in the order in which they came.
    var handles: [Int] { state.withLock { $0.result == nil && !$0.isAbandoned ? $0.book.members : [] } }

    /// How urgent the upload is, now and in the attempts to come.
    var priority: UploadPriority { state.withLock { $0.priority } }

    /// What a handle says; that of the upload once it is gone.
    func priority(of handle: Int) -> UploadPriority {
        state.withLock { $0.book.priority(of: handle) ?? $0.priority }
    }

    func prioritize(_ handle: Int, _ priority: UploadPriority) {
        state.withLock { $0.book.prioritize(handle, priority) }
        settle()
    }

    /// A handle, or all of them for `nil`, wants to stand still or to go on.
    func setPaused(_ handle: Int?, _ isPaused: Bool, word: Int) {
        state.withLock { $0.book.setPaused(handle, isPaused, word: word) }
        settle()
    }

    /// Whether a handle wants to stand still, while there is something to stand.
    func isPaused(_ handle: Int) -> Bool {
        state.withLock { $0.result == nil && $0.departed[handle] == nil && $0.book.isPaused(handle) }
    }

    /// The session's core, while the upload lives.
    var core: SessionCore? { state.withLock { $0.core } }

    /// The limit of this upload alone.
    var ownLimit: ByteCount? { state.withLock { $0.ownLimit } }

    func limit(to rate: ByteCount?) {
        let core = state.withLock { state in
            state.ownLimit = rate
            return state.core
        }
        core?.limit(id, to: rate)
    }

    /// Takes up what the handles want now.
    func settle() {
        let elapsed = elapsed
        let (mustEmpty, core) = state.withLock { state -> (Bool, SessionCore?) in
            guard state.result == nil else { return (false, nil) }
            let priority = state.book.priority ?? state.priority
            let isMoved = priority != state.priority
            state.priority = priority
            let core = isMoved ? state.core : nil
            guard state.book.isPaused != state.isPaused else { return (false, core) }
            state.isPaused.toggle()
            return (state.put(state.isPaused ? .pause(elapsed: elapsed) : .resume(elapsed: elapsed)), core)
        }
        if mustEmpty { emptyMailbox() }
        core?.prioritize(self)
    }

    /// All handles at once.
    func cancelAll() {
        state.withLock { $0.isAbandoned = true }
        post(.cancel)
    }

    /// The session is closing and cancels what it has.
    func cancelForClosing() {
        state.withLock { $0.isAbandoned = true }
        post(.sessionClosing)
    }

    /// A handle is cancelled: with the last one the transfer, else only what is awaited through it.
    func cancel(_ handle: Int) {
        let now = broadcast.snapshot
        let (leaving, waiters) = state.withLock { state -> (HandleBook.Leaving, [Waiter]) in
            guard state.result == nil, !state.isAbandoned else { return (.gone, []) }
            let leaving = state.book.leave(handle)
            guard leaving == .apart else {
                state.isAbandoned = leaving == .last
                return (leaving, [])
            }
            state.departed[handle] = Self.departure(now)
            let waiters = state.waiters.filter { $0.handle == handle }
            state.waiters.removeAll { $0.handle == handle }
            return (leaving, waiters)
        }
        switch leaving {
        case .gone: return
        case .last: post(.cancel)
        case .apart:
            broadcast.depart(handle)
            for waiter in waiters { waiter.continuation.resume(returning: .failure(Self.departure(now))) }
            settle()
        }
    }

    /// The error of a handle that is cancelled while the transfer continues for other handles.
    private static func departure(_ now: UploadSnapshot) -> UploadError {
        UploadError(
            .cancelled, "cancelled by the caller; the transfer goes on for others that joined it",
            phase: now.phase, attempt: now.attempt, outcome: .unknown, sent: now.sent, acknowledged: now.acknowledged)
    }
}
