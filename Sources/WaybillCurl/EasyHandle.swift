import CWaybillCurl
import WaybillCore

/// The owner of a `CURL *`, which frees it and sets its options with typed methods.
///
/// A rejected option is recorded instead of thrown, so that options can be set in sequence; ``rejectedOption`` is the
/// first one.
@safe final class EasyHandle {
    let raw: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private(set) var rejectedOption: (option: CURLoption, code: CURLcode)?

    init?() {
        guard let handle = unsafe curl_easy_init() else { return nil }
        unsafe raw = handle
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(raw)
        unsafe errorText.deallocate()
    }

    /// Resets all options of the handle; its connections and TLS sessions are kept by the multi handle.
    func reset() {
        unsafe curl_easy_reset(raw)
        rejectedOption = nil
        unsafe errorText.pointee = 0
        record(CURLOPT_ERRORBUFFER, unsafe wb_setopt_pointer(raw, CURLOPT_ERRORBUFFER, errorText))
    }

    /// The address of the handle, by which libcurl identifies it.
    var address: UInt { unsafe UInt(bitPattern: raw) }

    func set(_ option: CURLoption, _ value: Int) {
        record(option, unsafe wb_setopt_long(raw, option, value))
    }

    func set(_ option: CURLoption, _ value: Bool) {
        set(option, value ? 1 : 0)
    }

    /// Sets an option whose name ends in `_LARGE`.
    func set(_ option: CURLoption, large value: Int64) {
        record(option, unsafe wb_setopt_off(raw, option, Int(value)))
    }

    func set(_ option: CURLoption, _ value: String?) {
        record(option, unsafe wb_setopt_string(raw, option, value))
    }

    func set(_ option: CURLoption, _ list: borrowing StringList) {
        record(option, unsafe wb_setopt_slist(raw, option, list.first))
    }

    /// Sets a blob option; libcurl copies the bytes.
    func set(_ option: CURLoption, blob bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            record(option, unsafe wb_setopt_blob(raw, option, start, buffer.count))
        }
    }

    func record(_ option: CURLoption, _ code: CURLcode) {
        if code != CURLE_OK, rejectedOption == nil { rejectedOption = (option, code) }
    }

    /// Throws if libcurl rejected an option.
    func checkOptions() throws(TransferError) {
        guard let (option, code) = rejectedOption else { return }
        throw TransferError(
            .invalidRequest, "libcurl rejected option \(option.rawValue): \(CurlFailure.quote(code)).",
            outcome: .notSent)
    }

    func string(_ info: CURLINFO) -> String {
        var text: UnsafeMutablePointer<CChar>?
        unsafe wb_getinfo_string(raw, info, &text)
        return unsafe text.map { unsafe String(cString: $0) } ?? ""
    }

    /// The socket of the last connection; negative if it is closed.
    var activeSocket: Int32 {
        var socket: curl_socket_t = -1
        unsafe wb_getinfo_socket(raw, CURLINFO_ACTIVESOCKET, &socket)
        return socket
    }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        unsafe wb_getinfo_long(raw, info, &value)
        return value
    }

    func offset(_ info: CURLINFO) -> Int64 {
        var value = 0
        unsafe wb_getinfo_off(raw, info, &value)
        return Int64(value)
    }

    func microseconds(_ info: CURLINFO) -> Duration {
        .microseconds(offset(info))
    }

    /// The text of libcurl's last error, or an empty string.
    var lastError: String {
        unsafe String(cString: errorText)
    }
}

/// The owner of a `curl_slist`.
@safe struct StringList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    init() { unsafe first = nil }

    init(_ strings: [String]) {
        self.init()
        for string in strings { append(string) }
    }

    deinit {
        unsafe curl_slist_free_all(first)
    }

    mutating func append(_ string: String) {
        // A failed append keeps the old list; running out of memory is not recoverable here anyway.
        if let longer = unsafe curl_slist_append(first, string) { unsafe first = longer }
    }

    /// Appends the concatenation of several strings, which libcurl copies.
    mutating func append(_ texts: String...) {
        let count = texts.reduce(1) { $0 + $1.utf8.count }
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: count) { buffer in
            var end = 0
            for var text in texts {
                text.withUTF8 { bytes in
                    unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[end...])
                        .copyMemory(from: UnsafeRawBufferPointer(bytes))
                    end += bytes.count
                }
            }
            unsafe buffer[end] = 0
            if let longer = unsafe curl_slist_append(first, buffer.baseAddress!) { unsafe first = longer }
        }
    }
}

/// A pool of unused easy handles. A reused handle keeps its memory and its TLS sessions. A handle whose transfer failed
/// is discarded, because after some failures a handle can't send again (`CURLE_SEND_FAIL_REWIND`).
struct HandlePool {
    private var handles: [EasyHandle] = []

    /// Returns a pooled or new handle; `nil` if memory is exhausted.
    mutating func take() -> EasyHandle? {
        handles.popLast() ?? EasyHandle()
    }

    mutating func put(_ handle: EasyHandle) {
        if handles.count < 16 { handles.append(handle) }
    }
}
