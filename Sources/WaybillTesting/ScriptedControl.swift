import WaybillCore

/// The external influences on a running attempt: its control pauses it, its body wakes it.
struct ScriptedControlState: Sendable {
    var isPaused = false
    /// The number of wake-ups by the body.
    var wakes = 0
}

struct ScriptedControl: TransferControl {
    let task: Task<Void, Never>
    let steering: Observed<ScriptedControlState>

    func cancel() { task.cancel() }
    func pause() { steering.update { $0.isPaused = true } }
    func resume() { steering.update { $0.isPaused = false } }
    // Rate limits do not apply: the script determines the rate.
    func limit(to rate: ByteCount?) {}
}
