import CWaybillCurl
import Glibc

/// An epoll instance (epoll(7)) with the sockets of ``HTTP1Connection`` and a descriptor that wakes the engine.
///
/// Sockets are registered once, edge-triggered: an event arrives when a socket becomes readable or writable, so a
/// request needs no system call to change the registration. Only ``wake()`` may be called from other threads.
@safe struct SocketPoller: @unchecked Sendable {
    /// An event of a socket.
    struct Event {
        /// The number given to ``add(_:number:)``.
        let number: UInt64
        let isReadable: Bool
        let isWritable: Bool
        /// Whether the peer has closed the connection or at least its sending direction, or the connection broke.
        let isHangup: Bool
    }

    /// The descriptor, which is readable while events are pending.
    let descriptor: Int32
    private let wakeDescriptor: Int32
    private let buffer: UnsafeMutablePointer<epoll_event>
    private static let capacity = 256

    /// Returns `nil` if no file descriptor is available.
    init?() {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        var event = unsafe epoll_event(events: EPOLLIN.rawValue | Self.edgeTriggered, data: epoll_data_t(u64: 0))
        guard wakeDescriptor >= 0, unsafe epoll_ctl(descriptor, EPOLL_CTL_ADD, wakeDescriptor, &event) == 0 else {
            if wakeDescriptor >= 0 { close(wakeDescriptor) }
            close(descriptor)
            return nil
        }
        unsafe buffer = .allocate(capacity: Self.capacity)
    }

    /// Closes the descriptors. The poller must not be used afterwards.
    func free() {
        close(wakeDescriptor)
        close(descriptor)
        unsafe buffer.deallocate()
    }

    /// Registers a socket under a number above 0.
    ///
    /// - Returns: Whether the kernel accepted it.
    func add(_ socket: Int32, number: UInt64) -> Bool {
        let events = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | Self.edgeTriggered
        var event = unsafe epoll_event(events: events, data: epoll_data_t(u64: number))
        return unsafe epoll_ctl(descriptor, EPOLL_CTL_ADD, socket, &event) == 0
    }

    /// Removes a socket, which is still open.
    func remove(_ socket: Int32) {
        var event = unsafe epoll_event()
        unsafe epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, &event)
    }

    /// Waits until an event occurs, ``wake()`` is called, or the time has passed.
    ///
    /// - Returns: The number of events, for ``event(_:)``.
    func wait(milliseconds: Int32) -> Int {
        max(0, Int(unsafe epoll_wait(descriptor, buffer, Int32(Self.capacity), milliseconds)))
    }

    /// Returns an event of the last wait; `nil` for a call of ``wake()``.
    func event(_ index: Int) -> Event? {
        let (events, number) = unsafe (buffer[index].events, buffer[index].data.u64)
        guard number != 0 else { return nil }
        let hangup = EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
        return Event(
            number: number, isReadable: events & (EPOLLIN.rawValue | hangup) != 0,
            isWritable: events & (EPOLLOUT.rawValue | hangup) != 0, isHangup: events & hangup != 0)
    }

    /// Ends the current or next wait. Each write is a new edge, so the counter is never read.
    func wake() {
        eventfd_write(wakeDescriptor, 1)
    }

    private static let edgeTriggered: UInt32 = 1 << 31
}
