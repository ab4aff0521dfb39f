import CWaybillCurl

/// The owner of an engine's `CURLM *`. Only the engine's thread may use it.
@safe struct MultiHandle: @unchecked Sendable {
    private let raw: UnsafeMutableRawPointer

    init?() {
        guard let raw = unsafe curl_multi_init() else { return nil }
        // Without a free file descriptor, libcurl creates a handle that cannot be woken.
        guard unsafe curl_multi_wakeup(raw) == CURLM_OK else {
            unsafe curl_multi_cleanup(raw)
            return nil
        }
        unsafe self.raw = raw
    }

    /// Makes libcurl close the connection that was idle longest whenever a transfer ends with more connections open
    /// than `count`, including those in use (`CURLMOPT_MAXCONNECTS`).
    func limitConnections(to count: Int) {
        unsafe wb_multi_setopt_long(raw, CURLMOPT_MAXCONNECTS, count)
    }

    /// Frees the handle and closes its idle connections. The handle must not be used afterwards.
    func free() {
        unsafe curl_multi_cleanup(raw)
    }

    func add(_ handle: EasyHandle) -> CURLMcode {
        unsafe curl_multi_add_handle(raw, handle.raw)
    }

    func remove(_ handle: EasyHandle) {
        unsafe curl_multi_remove_handle(raw, handle.raw)
    }

    func perform() {
        var running: Int32 = 0
        unsafe curl_multi_perform(raw, &running)
    }

    /// Returns the next completed transfer, identified by the address of its easy handle.
    func nextDone() -> (handle: UInt, code: CURLcode)? {
        var handle: UnsafeMutableRawPointer?
        var code = CURLE_OK
        guard unsafe wb_multi_next_done(raw, &handle, &code) == 1, let handle = unsafe handle else { return nil }
        return (UInt(bitPattern: handle), code)
    }

    /// Sleeps until a socket is ready, a libcurl timer is due, `descriptor` is readable, or the time has passed.
    func poll(milliseconds: Int32, and descriptor: Int32) {
        var other = curl_waitfd(fd: descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        unsafe curl_multi_poll(raw, &other, 1, milliseconds, nil)
    }
}
