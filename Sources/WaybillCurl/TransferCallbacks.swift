import CWaybillCurl
import WaybillCore

// libcurl calls these functions on the engine's thread, with the transfer or the engine as context. The engine retains
// both as long as libcurl may call. They are global functions instead of closures, because a closure created in
// main-actor code would inherit that isolation and trap here.

extension EasyHandle {
    func setCallbacks(transfer: CurlTransfer, engine: CurlEngine) {
        let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
        record(CURLOPT_READFUNCTION, unsafe wb_setopt_read(raw, readBody, context))
        record(CURLOPT_SEEKFUNCTION, unsafe wb_setopt_seek(raw, seekBody, context))
        record(CURLOPT_HEADERFUNCTION, unsafe wb_setopt_header(raw, receiveHeaderLine, context))
        record(CURLOPT_WRITEFUNCTION, unsafe wb_setopt_write(raw, receiveResponseBody, context))
        record(CURLOPT_PREREQFUNCTION, unsafe wb_setopt_prereq(raw, beforeRequest, context))
        setConnectionCallbacks(transfer: transfer, engine: engine)
    }

    func setConnectionCallbacks(transfer: Transfer, engine: CurlEngine) {
        let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
        let owner = unsafe Unmanaged.passUnretained(engine).toOpaque()
        record(CURLOPT_SOCKOPTFUNCTION, unsafe wb_setopt_open_socket(raw, openSocket, owner))
        record(CURLOPT_CLOSESOCKETFUNCTION, unsafe wb_setopt_close_socket(raw, closeSocket, owner))
        guard transfer.request.options.proxy != nil else { return }
        record(CURLOPT_XFERINFOFUNCTION, unsafe wb_setopt_progress(raw, proxyConnectProgress, context))
        set(CURLOPT_NOPROGRESS, 0)
    }
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
    let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
    transfer.engine?.callbacks &+= 1
    return transfer
}

private func readBody(
    _ buffer: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    switch unsafe transfer(context).fill(UnsafeMutableRawBufferPointer(start: buffer, count: size * count)) {
    case .bytes(let count): count
    case .pause: wb_readfunc_pause
    case .abort: wb_readfunc_abort
    }
}

private func seekBody(_ context: UnsafeMutableRawPointer?, _ offset: Int, _ origin: Int32) -> Int32 {
    unsafe transfer(context).allowsRewind(to: offset) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}

private func receiveHeaderLine(
    _ buffer: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: size * count)
    return unsafe transfer(context).receiveHeaderLine(bytes) ? bytes.count : 0
}

private func receiveResponseBody(
    _ buffer: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: size * count)
    // Any count other than the given one makes libcurl end the transfer.
    return unsafe transfer(context).receiveResponseBody(bytes) ? bytes.count : bytes.count + 1
}

private func beforeRequest(
    _ context: UnsafeMutableRawPointer?, _ peerAddress: UnsafeMutablePointer<CChar>?,
    _ localAddress: UnsafeMutablePointer<CChar>?, _ peerPort: Int32, _ localPort: Int32
) -> Int32 {
    func text(_ pointer: UnsafeMutablePointer<CChar>?) -> String {
        unsafe pointer.map { unsafe String(cString: $0) } ?? ""
    }
    let endpoints = unsafe ConnectionEndpoints(
        localAddress: text(localAddress), localPort: localPort, peerAddress: text(peerAddress), peerPort: peerPort)
    return unsafe transfer(context).connectionIsReady(endpoints) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

private func proxyConnectProgress(
    _ context: UnsafeMutableRawPointer?, _ downloadTotal: curl_off_t, _ downloaded: curl_off_t,
    _ uploadTotal: curl_off_t, _ uploaded: curl_off_t
) -> Int32 {
    // Any value except 0 ends the transfer with CURLE_ABORTED_BY_CALLBACK. Called in each round, so it is not counted
    // as activity.
    let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
    return transfer.mayContinueReadingTunnel() ? 0 : 1
}

private func openSocket(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ purpose: curlsocktype) -> Int32
{
    unsafe Unmanaged<CurlEngine>.fromOpaque(context!).takeUnretainedValue().sockets.open(socket)
    return CURL_SOCKOPT_OK
}

private func closeSocket(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
    let engine = unsafe Unmanaged<CurlEngine>.fromOpaque(context!).takeUnretainedValue()
    engine.connections.encrypted(on: socket)?.socketWillClose()
    return engine.sockets.close(socket)
}
