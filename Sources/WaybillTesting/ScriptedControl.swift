import WaybillCore

/// What others do to a running attempt: its control pauses it, its body wakes it.
struct ScriptedSteering: Sendable {
    var isPaused = false
    /// How often the body has called.
    var wakes = 0
}

struct ScriptedControl: TransferControl {
    let task: Task<Void, Never>
    let steering: Observed<ScriptedSteering>

    func cancel() { task.cancel() }
    func pause() { steering.update { $0.isPaused = true } }
    func resume() { steering.update { $0.isPaused = false } }
    // A script has its own pace.
    func limit(to rate: ByteCount?) {}
}
