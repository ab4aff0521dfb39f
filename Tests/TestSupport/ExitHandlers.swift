internal import Glibc
internal import WaybillCore

/// Ends the shared programs of a test process at its exit.
enum ExitHandlers {
    private static let handlers = Locked<[@Sendable () -> Void]>([])
    private static let registration: Void = { atexit { ExitHandlers.run() } }()

    static func add(_ handler: @escaping @Sendable () -> Void) {
        handlers.withLock { $0.append(handler) }
        _ = registration
    }

    /// The last one first: it may use the others.
    private static func run() {
        for handler in handlers.withLock({ $0 }).reversed() { handler() }
    }
}
