import CWaybillCurl

/// The owner of the one `CURLM *` of an engine. Only the engine's thread may touch it, except for ``wake()``.
@safe struct MultiHandle: @unchecked Sendable {
    private let raw: UnsafeMutableRawPointer

    init?() {
        guard let raw = unsafe curl_multi_init() else { return nil }
        // Without a free descriptor libcurl makes a handle that nothing can wake.
        guard unsafe curl_multi_wakeup(raw) == CURLM_OK else {
            unsafe curl_multi_cleanup(raw)
            return nil
        }
        unsafe self.raw = raw
    }

    /// Has libcurl close the connection that lay idle longest whenever a transfer ends with more of them open than that,
    /// those at work included (`CURLMOPT_MAXCONNECTS`).
    func limitConnections(to count: Int) {
        unsafe wb_multi_setopt_long(raw, CURLMOPT_MAXCONNECTS, count)
    }

    /// Frees it and closes the connections that are kept alive. Nothing may be called afterwards.
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

    /// The next transfer that ended, as the address of its easy handle.
    func nextDone() -> (handle: UInt, code: CURLcode)? {
        var handle: UnsafeMutableRawPointer?
        var code = CURLE_OK
        guard unsafe wb_multi_next_done(raw, &handle, &code) == 1, let handle = unsafe handle else { return nil }
        return (UInt(bitPattern: handle), code)
    }

    /// Sleeps until a socket is ready, a timer of libcurl's is due, somebody calls ``wake()``, or time is up.
    func poll(milliseconds: Int32) {
        unsafe curl_multi_poll(raw, nil, 0, milliseconds, nil)
    }

    /// Ends a ``poll(milliseconds:)``, or the next one. From any thread (`curl_multi_wakeup(3)`).
    func wake() {
        unsafe curl_multi_wakeup(raw)
    }
}
