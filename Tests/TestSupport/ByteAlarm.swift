internal import WaybillCore

/// What is done, once, when so many bytes have come: on the thread that counts them, and before it reads on. There is one at
/// a time.
final class ByteAlarm: Sendable {
    private let set = Locked<Setting?>(nil)

    private struct Setting {
        let mark: Int
        let ring: @Sendable () -> Void
    }

    /// Sets it anew.
    func set(at mark: Int, _ ring: @escaping @Sendable () -> Void) {
        set.withLock { $0 = Setting(mark: mark, ring: ring) }
    }

    /// Tells how many bytes have come in all.
    func sound(at bytes: Int) {
        let due: Setting? = set.withLock { set in
            guard let due = set, bytes >= due.mark else { return nil }
            set = nil
            return due
        }
        due?.ring()
    }
}
