import WaybillCore

/// A point in a script at which attempts wait until the test opens the gate.
///
/// ```swift
/// let gate = ScriptGate()
/// let transport = ScriptedTransport([.connect, .receive(100), .wait(gate), .receiveRest, .respond(.ok)])
/// let task = session.start(form, to: "http://backend.example/")
/// await gate.arrivals(atLeast: 1)         // 100 bytes are acknowledged, and the attempt waits
/// task.cancel()
/// ```
///
/// A cancelled attempt does not wait.
public final class ScriptGate: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
    }

    private let state = Observed(State())

    /// Creates a closed gate.
    public init() {}

    /// Opens the gate for attempts that wait and for all later ones.
    public func open() {
        state.update { $0.isOpen = true }
    }

    /// Waits until the given number of attempts has arrived at the gate, including those that have passed it. Returns
    /// early if the task is cancelled.
    public func arrivals(atLeast count: Int) async {
        await state.wait { $0.arrivals >= count }
    }

    /// Arrives at the gate and waits; returns immediately if the task is cancelled.
    func pass() async {
        state.update { $0.arrivals += 1 }
        await state.wait { $0.isOpen }
    }
}
