import WaybillCore

/// The wish that deliveries come to their end and no new ones begin.
final class Drain: Sendable {
    private enum Wish {
        case none, finish, stop
    }

    private let wish = Locked(Wish.none)

    /// Whether nothing new is to be taken.
    var isWanted: Bool { wish.withLock { $0 != .none } }

    /// Whether what is under way has had its time.
    var isOver: Bool { wish.withLock { $0 == .stop } }

    func begin() { wish.withLock { if $0 == .none { $0 = .finish } } }

    func end() { wish.withLock { $0 = .stop } }
}
