/// A pool of unused easy handles. A reused handle keeps its memory and its TLS sessions. A handle whose transfer failed
/// is discarded, because after some failures a handle can't send again (`CURLE_SEND_FAIL_REWIND`).
struct HandlePool {
    private var handles: [EasyHandle] = []

    /// Returns a pooled or new handle; `nil` if memory is exhausted.
    mutating func take() -> EasyHandle? {
        handles.popLast() ?? EasyHandle()
    }

    mutating func give(_ handle: EasyHandle) {
        if handles.count < 16 { handles.append(handle) }
    }
}
