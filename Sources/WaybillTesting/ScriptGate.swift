import WaybillCore

/// A place in a script where attempts wait until the test lets them go on.
///
/// ```swift
/// let gate = ScriptGate()
/// let transport = ScriptedTransport([.connect, .take(100), .wait(gate), .takeRest, .answer(.ok)])
/// let task = session.start(form, to: "http://backend.example/")
/// await gate.arrivals(atLeast: 1)         // 100 bytes are acknowledged, and the attempt stands
/// task.cancel()
/// ```
///
/// A cancelled attempt doesn't wait.
public final class ScriptGate: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
    }

    private let state = Observed(State())

    /// A closed gate.
    public init() {}

    /// Lets go who waits, and everyone from now on.
    public func open() {
        state.update { $0.isOpen = true }
    }

    /// Waits until so many attempts have come to the gate, the ones that have passed it included; returns early when the
    /// task is cancelled.
    public func arrivals(atLeast count: Int) async {
        await state.wait { $0.arrivals >= count }
    }

    /// Comes to the gate and waits; returns at once when the task is cancelled.
    func pass() async {
        state.update { $0.arrivals += 1 }
        await state.wait { $0.isOpen }
    }
}
