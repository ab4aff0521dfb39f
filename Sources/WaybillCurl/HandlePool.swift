/// Easy handles at rest. A reused handle keeps its memory and its TLS sessions; one whose transfer failed is thrown
/// away, because some failures leave a handle that can't send again (`CURLE_SEND_FAIL_REWIND`).
struct HandlePool {
    private var handles: [EasyHandle] = []

    /// A handle, fresh if none rests; `nil` when memory is out.
    mutating func take() -> EasyHandle? {
        handles.popLast() ?? EasyHandle()
    }

    mutating func give(_ handle: EasyHandle) {
        if handles.count < 16 { handles.append(handle) }
    }
}
