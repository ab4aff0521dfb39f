import WaybillCore

/// What the caller has requested of an attempt whose transfer has not started yet, or is replaced by others. Part of a
/// state that is protected by a lock; the transfer is called outside it.
struct RequestedControl: Sendable {
    /// The running transfer.
    private(set) var transfer: (any TransferControl)?
    private(set) var isCancelled = false
    private var isPaused = false
    private var rate: ByteCount??

    /// Records a cancellation and returns the transfer to cancel.
    mutating func cancel() -> (any TransferControl)? {
        isCancelled = true
        return transfer
    }

    /// Records a pause or its end, and returns the transfer to notify.
    mutating func setPaused(_ isPaused: Bool) -> (any TransferControl)? {
        self.isPaused = isPaused
        return transfer
    }

    /// Records a rate limit and returns the transfer to notify.
    mutating func limit(to rate: ByteCount?) -> (any TransferControl)? {
        self.rate = .some(rate)
        return transfer
    }

    /// Forgets the transfer, because it has ended.
    mutating func detach() { transfer = nil }

    /// Sets the transfer, and returns a closure that passes it everything that was requested before.
    mutating func attach(_ transfer: any TransferControl) -> @Sendable () -> Void {
        self.transfer = transfer
        let (isCancelled, isPaused, rate) = (isCancelled, isPaused, rate)
        return {
            if isCancelled { transfer.cancel() }
            if isPaused { transfer.pause() }
            if let rate { transfer.limit(to: rate) }
        }
    }
}
