internal import CTestSupport

/// A gate that a test opens and a server thread waits at. It expresses "later" without a clock.
///
/// ```swift
/// let gate = Gate()
/// let server = try LoopbackServer(.respond(200).held(at: gate))
/// // … look at what the client does while it has no answer …
/// gate.open()
/// ```
package final class Gate: Sendable {
    let event: Int32

    package init() {
        event = cts_event_make()
        precondition(event >= 0, "no descriptor is left for a gate")
    }

    deinit { cts_close(event) }

    /// Opens the gate permanently, for all waiters.
    package func open() { cts_event_raise(event) }

    /// Blocks this thread until the gate is open. Not for tasks, whose threads are limited.
    package func wait() { _ = cts_wait(-1, 0, event, -1, -1) }
}
