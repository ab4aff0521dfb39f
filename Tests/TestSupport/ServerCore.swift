internal import CTestSupport
internal import Glibc
internal import WaybillCore

/// The state shared by the threads of a ``LoopbackServer``. It outlives the server until its threads have ended.
final class ServerCore: Sendable {
    struct Script {
        var connections: [LoopbackServer.Arrival] = []
        var queue: [Behaviour] = []
        var routes: [String: [Behaviour]] = [:]
        var otherwise: Behaviour
    }

    private struct Threads {
        var running: [Int: ServerThread] = [:]
        var finished: [Int] = []
    }

    let keepsBodies: Bool
    let state = Watched(ServerState())
    let script: Locked<Script>
    let stop: Int32
    private let listener: Int32
    private let threads = Locked(Threads())

    init(listener: Int32, keepsBodies: Bool, script: sending Script) {
        self.listener = listener
        self.keepsBodies = keepsBodies
        self.script = Locked(script)
        stop = cts_event_make()
        precondition(stop >= 0, "no descriptor is left for a server")
    }

    deinit {
        cts_close(stop)
        cts_close(listener)
    }

    /// Accepts connections until the server stops, and returns after all their threads have ended.
    func acceptConnections() {
        while true {
            let seen = cts_wait(listener, CInt(cts_readable), -1, stop, -1)
            if seen & CInt(cts_stopped) != 0 { break }
            let descriptor = cts_accept(listener)
            if descriptor >= 0 { serve(descriptor) }
            joinFinished()
        }
        for thread in threads.withLock({ Array($0.running.values) }) { thread.join() }
    }

    /// Whether the next request is handled without being read.
    var isNextUnread: Bool { script.withLock { $0.queue.first?.startsBeforeHead == true } }

    /// Returns the next behavior of the script if it starts before the request is read.
    func takeBehaviourBeforeHead() -> Behaviour? {
        script.withLock { script in
            script.queue.first?.startsBeforeHead == true ? script.queue.removeFirst() : nil
        }
    }

    /// Returns the behavior for a request: that of its route, else the next of the script, else the default.
    func takeBehaviour(path: String) -> Behaviour {
        script.withLock { script in
            if let route = script.routes[path] {
                if route.count > 1 { script.routes[path] = Array(route.dropFirst()) }
                return route[0]
            }
            return script.queue.isEmpty ? script.otherwise : script.queue.removeFirst()
        }
    }

    private func serve(_ descriptor: Int32) {
        let number = state.update { state in
            state.connections.append(ConnectionRecord())
            return state.connections.count - 1
        }
        let arrival = script.withLock { $0.connections.isEmpty ? .serve : $0.connections.removeFirst() }
        if arrival == .reset {
            cts_reset(descriptor)
            state.update { $0.connections[number].isClosed = true }
            return
        }
        let thread = ServerThread { [self] in
            var connection = ServerConnection(
                core: self, number: number, socket: ServerSocket(descriptor: descriptor, stop: stop))
            connection.run(arrival)
            threads.withLock { $0.finished.append(number) }
        }
        threads.withLock { $0.running[number] = thread }
    }

    private func joinFinished() {
        let done: [ServerThread] = threads.withLock { threads in
            let known = threads.finished.filter { threads.running[$0] != nil }
            threads.finished.removeAll { known.contains($0) }
            return known.compactMap { threads.running.removeValue(forKey: $0) }
        }
        for thread in done { thread.join() }
    }
}
