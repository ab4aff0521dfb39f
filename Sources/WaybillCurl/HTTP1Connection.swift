import CWaybillCurl
import Glibc
import WaybillCore

/// A connection that libcurl has made, on which ``HTTP1Transfer`` exchanges messages.
///
/// Without TLS, the connection owns the socket, and libcurl has forgotten it. With TLS, all bytes pass through libcurl's
/// handle (`curl_easy_send(3)`), which stays in the multi handle as long as the connection is open.
@safe final class HTTP1Connection {
    /// The result of a system call.
    enum Result {
        case bytes(Int)
        /// The socket accepts or has no bytes now.
        case wouldBlock
        /// The peer has closed the connection.
        case end
        /// The connection broke; the associated value describes the error.
        case failed(String)
    }

    let key: ConnectionKey
    let peer: TransferConnection
    let socket: Int32
    /// The number of the connection in the poller, never used again.
    let number: UInt64
    /// The transfer that uses the connection.
    var transfer: HTTP1Transfer?
    /// Whether the socket may have input or accept output; `false` after a call that would have blocked.
    var isReadable = false
    var isWritable = true
    /// Whether the peer has closed its direction, so that a read must continue to the end.
    var isHangup = false
    /// Whether the connection has carried a request.
    var isReused = false
    /// The time at which the last request ended.
    var idleSince = ContinuousClock.now
    /// The number of bytes given to the kernel since the connection was made. Only known without TLS.
    private(set) var written: Int64 = 0
    private let tls: EasyHandle?
    /// Whether libcurl has closed the connection.
    private(set) var isClosed = false
    private let isTCP: Bool
    /// What the first read returned, which attached the connection to its handle.
    private var firstRead: (result: Result, byte: UInt8)?

    /// `tls` is the handle that encrypts, or `nil` if the connection owns the socket.
    init(_ key: ConnectionKey, peer: TransferConnection, socket: Int32, number: UInt64, tls: EasyHandle?) {
        (self.key, self.peer, self.socket, self.number, self.tls) = (key, peer, socket, number, tls)
        var (acknowledged, pending) = (UInt64(0), UInt64(0))
        isTCP = unsafe wb_tcp_counters(socket, &acknowledged, &pending) == 0
    }

    /// The socket, if its bytes are those of the messages and the kernel counts them.
    var plainSocket: Int32? { tls == nil && isTCP ? socket : nil }

    /// Whether the bytes of the messages are encrypted, so that only a ``SocketProbe`` shows what was acknowledged.
    var isEncrypted: Bool { tls != nil }

    /// A probe of the encrypted bytes of one request.
    func makeProbe() -> SocketProbe? { tls != nil && isTCP ? SocketProbe(socket: socket) : nil }

    /// The number of written bytes that the peer has not acknowledged; `nil` if unknown.
    var pending: UInt64? {
        guard plainSocket != nil else { return nil }
        let count = wb_pending(socket)
        return count < 0 ? nil : UInt64(count)
    }

    /// Attaches an encrypted connection to its handle, which a read or write does. Until then, libcurl considers the
    /// connection idle, and may close it.
    func attach() {
        var byte: UInt8 = 0
        let result = unsafe withUnsafeMutableBytes(of: &byte) { unsafe receive($0) }
        if case .wouldBlock = result { return }
        firstRead = (result, byte)
    }

    /// Returns whether the connection can carry another request: it is open, and nothing was received that no request
    /// has asked for.
    func isHealthy() -> Bool {
        guard !isClosed, !isHangup else { return false }
        guard tls == nil else {
            // Over TLS, session tickets may be waiting.
            var byte: UInt8 = 0
            if case .wouldBlock = unsafe withUnsafeMutableBytes(of: &byte, { unsafe receive($0) }) { return true }
            return false
        }
        var byte: UInt8 = 0
        let count = unsafe recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count < 0 && (errno == EAGAIN || errno == EINTR)
    }

    /// Sends bytes. With `fillsSegments`, the encrypted records of one piece are sent in full segments.
    func send(_ bytes: UnsafeRawBufferPointer, fillsSegments: Bool) -> Result {
        guard !isClosed else { return .end }
        guard let tls else {
            let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
            let count = Self.repeated { unsafe Glibc.send(socket, bytes.baseAddress, bytes.count, flags) }
            guard count >= 0 else { return Self.result(errno) }
            written += Int64(count)
            return .bytes(count)
        }
        let isCorked = fillsSegments && bytes.count > TLSByteCounter.maxRecordSize
        if isCorked { wb_set_corked(socket, 1) }
        defer { if isCorked { wb_set_corked(socket, 0) } }
        var count = 0
        let code = unsafe curl_easy_send(tls.raw, bytes.baseAddress, bytes.count, &count)
        return Self.result(code, count: count, of: tls)
    }

    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> Result {
        guard !isClosed else { return .end }
        if let (result, byte) = firstRead {
            firstRead = nil
            unsafe buffer[0] = byte
            return result
        }
        guard let tls else {
            let count = Self.repeated { unsafe recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) }
            guard count >= 0 else { return Self.result(errno) }
            return count == 0 ? .end : .bytes(count)
        }
        var count = 0
        let code = unsafe curl_easy_recv(tls.raw, buffer.baseAddress, buffer.count, &count)
        return code == CURLE_OK && count == 0 ? .end : Self.result(code, count: count, of: tls)
    }

    /// Records bytes that a reader has sent on ``plainSocket``.
    func addWritten(_ count: Int) { written += Int64(count) }

    /// Repeats a system call that a signal has interrupted.
    private static func repeated(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    private static func result(_ error: Int32) -> Result {
        if error == EAGAIN { return .wouldBlock }
        return unsafe .failed(String(cString: strerror(error)))
    }

    private static func result(_ code: CURLcode, count: Int, of tls: EasyHandle) -> Result {
        switch code {
        case CURLE_OK: return .bytes(count)
        case CURLE_AGAIN: return .wouldBlock
        default:
            let detail = tls.lastError
            return .failed(detail.isEmpty ? CurlFailure.quote(code) : detail)
        }
    }

    /// Called when libcurl closes the socket of an encrypted connection, whose number may then be used again.
    func socketWillClose() { isClosed = true }

    /// Tells the server that no more bytes follow, without closing the connection. Not supported over TLS.
    func shutDownOutput() {
        if tls == nil { shutdown(socket, Int32(SHUT_WR)) }
    }

    /// Closes the connection; an encrypted one with a close alert if libcurl sends one.
    func close(in engine: CurlEngine) {
        guard let tls else {
            Glibc.close(socket)
            return
        }
        if !isClosed { engine.poller.remove(socket) }
        engine.inbox.multi.remove(tls)
        engine.handles.put(tls)
    }
}

/// The options that must be equal for a connection to carry a request.
struct ConnectionKey: Equatable {
    private let origin: String
    private let proxy: String?
    private let proxyCredential: ProxyCredential?
    private let proxyExceptions: [String]
    private let tls: TransferOptions.TLSOptions
    private let proxyTLS: TransferOptions.TLSOptions
    private let resolve: [String]
    private let addressFamily: TransferOptions.AddressFamily
    private let unixSocket: String?

    init(origin: String, _ options: TransferOptions) {
        self.origin = origin
        proxy = options.proxy
        proxyCredential = options.proxyCredential
        proxyExceptions = options.proxyExceptions
        tls = options.tls
        proxyTLS = options.proxyTLS
        resolve = options.resolve
        addressFamily = options.addressFamily
        unixSocket = options.unixSocket
    }
}

/// The open connections of an engine: those in use by number, and the idle ones.
struct ConnectionPool {
    /// Longer than most servers keep an idle connection open, and the limit of libcurl (`CURLOPT_MAXAGE_CONN`).
    static let maximumIdleTime = Duration.seconds(118)

    private let maximumIdle: Int
    private var connections: [UInt64: HTTP1Connection] = [:]
    /// The idle connections, the one that was idle longest first.
    private var idle: [HTTP1Connection] = []
    private var lastNumber: UInt64 = 0
    /// The number of encrypted connections, which libcurl counts among its own.
    private(set) var encryptedCount = 0

    init(maximumIdle: Int) {
        self.maximumIdle = maximumIdle
    }

    subscript(number: UInt64) -> HTTP1Connection? { connections[number] }

    /// The time at which the connection that was idle longest expires.
    var nextExpiry: ContinuousClock.Instant? { idle.first.map { $0.idleSince + Self.maximumIdleTime } }

    mutating func newNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    mutating func add(_ connection: HTTP1Connection) {
        connections[connection.number] = connection
        if connection.isEncrypted { encryptedCount += 1 }
    }

    /// Takes the matching connection that was used last: it is the least likely to have been closed by the server.
    ///
    /// - Returns: The connection, and those that turned out to be closed, which the caller closes.
    mutating func take(_ key: ConnectionKey, now: ContinuousClock.Instant) -> (HTTP1Connection?, [HTTP1Connection]) {
        var dead: [HTTP1Connection] = []
        while let index = idle.lastIndex(where: { $0.key == key }) {
            let connection = idle.remove(at: index)
            if now - connection.idleSince < Self.maximumIdleTime, connection.isHealthy() { return (connection, dead) }
            forget(connection)
            dead.append(connection)
        }
        return (nil, dead)
    }

    /// Keeps a connection for a later request.
    ///
    /// - Returns: The connection that exceeds the limit, which the caller closes.
    mutating func put(_ connection: HTTP1Connection, now: ContinuousClock.Instant) -> HTTP1Connection? {
        connection.idleSince = now
        idle.append(connection)
        return idle.count > maximumIdle ? removeFirst() : nil
    }

    /// Removes the connection that was idle longest, if it has expired.
    mutating func removeExpired(now: ContinuousClock.Instant) -> HTTP1Connection? {
        guard let expiry = nextExpiry, expiry <= now else { return nil }
        return removeFirst()
    }

    /// Removes an idle connection that the server has closed.
    mutating func removeIdle(_ connection: HTTP1Connection) {
        idle.removeAll { $0 === connection }
        forget(connection)
    }

    /// Removes a connection that is in use or was removed from the idle ones.
    mutating func forget(_ connection: HTTP1Connection) {
        guard connections.removeValue(forKey: connection.number) != nil else { return }
        if connection.isEncrypted { encryptedCount -= 1 }
    }

    mutating func removeAllIdle() -> [HTTP1Connection] {
        let all = idle
        idle = []
        for connection in all { forget(connection) }
        return all
    }

    /// Returns the encrypted connection on a socket.
    func encrypted(on socket: Int32) -> HTTP1Connection? {
        encryptedCount == 0 ? nil : connections.values.first { $0.isEncrypted && !$0.isClosed && $0.socket == socket }
    }

    private mutating func removeFirst() -> HTTP1Connection? {
        guard !idle.isEmpty else { return nil }
        let connection = idle.removeFirst()
        forget(connection)
        return connection
    }
}
