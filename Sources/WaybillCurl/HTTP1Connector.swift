import CWaybillCurl
import Glibc
import WaybillCore

/// Lets libcurl make a connection for a transfer (`CURLOPT_CONNECT_ONLY`): name resolution, TCP, proxies, TLS.
struct HTTP1Connector {
    private let easy: EasyHandle
    private let key: ConnectionKey
    private let request: TransferRequest
    /// Kept until libcurl has connected.
    private let resolve: ResolveList

    private final class ResolveList {
        let list: StringList
        init(_ entries: [String]) { list = .connectTo(entries) }
    }

    /// The result of connecting.
    enum Outcome {
        case connected(HTTP1Connection, TransferMetrics)
        case failed(Transfer.Failure)
    }

    init(for transfer: HTTP1Transfer, key: ConnectionKey, engine: CurlEngine) throws(TransferError) {
        guard let easy = engine.handles.take() else {
            throw TransferError(.other, "libcurl could not create a handle: out of memory.", outcome: .notSent)
        }
        self.easy = easy
        self.key = key
        request = transfer.request
        resolve = ResolveList(transfer.request.options.resolve)
        easy.reset()
        easy.configureConnection(for: request, resolve: resolve.list)
        easy.set(CURLOPT_CONNECT_ONLY, 1)
        easy.setConnectionCallbacks(transfer: transfer, engine: engine)
        try easy.checkOptions()
        let code = engine.inbox.multi.add(easy)
        guard code == CURLM_OK else {
            throw TransferError(
                .other, "libcurl rejected the connection (CURLMcode \(code.rawValue)).", outcome: .notSent)
        }
        engine.addConnecting(transfer, handle: easy.address)
    }

    /// Takes the connection from libcurl.
    func finish(_ code: CURLcode, engine: CurlEngine) -> Outcome {
        guard code == CURLE_OK else {
            let failure = CurlFailure.failure(code, of: easy, isConnected: false, sawResponseHead: false)
            abandon(engine)
            return .failed(failure)
        }
        // libcurl regards the connection as idle by now, and may have closed it because the server has.
        guard easy.activeSocket >= 0 else {
            abandon(engine)
            return .failed(
                Transfer.Failure(.connectionLost, "The server closed the connection before the request was sent."))
        }
        let metrics = TransferMetrics(connecting: easy)
        let peer = TransferConnection(
            isReused: false, peerAddress: request.options.unixSocket ?? easy.string(CURLINFO_PRIMARY_IP),
            peerPort: request.options.unixSocket == nil ? easy.long(CURLINFO_PRIMARY_PORT) : 0)
        let connection = request.sendsTLSRecords ? encrypted(peer, engine) : plain(peer, engine)
        guard let connection else {
            return .failed(Transfer.Failure(.resourcesExhausted, CurlFailure.outOfDescriptors))
        }
        return .connected(connection, metrics)
    }

    /// Stops connecting.
    func abandon(_ engine: CurlEngine) {
        engine.removeConnecting(handle: easy.address)
        engine.inbox.multi.remove(easy)
    }

    /// Duplicates the socket, because libcurl closes its own when the handle is removed.
    private func plain(_ peer: TransferConnection, _ engine: CurlEngine) -> HTTP1Connection? {
        let socket = fcntl(easy.activeSocket, F_DUPFD_CLOEXEC, 0)
        engine.removeConnecting(handle: easy.address)
        engine.inbox.multi.remove(easy)
        guard socket >= 0 else { return nil }
        engine.handles.put(easy)
        let connection = HTTP1Connection(
            key, peer: peer, socket: socket, number: engine.connections.newNumber(), tls: nil)
        guard engine.poller.add(socket, number: connection.number) else {
            close(socket)
            return nil
        }
        return connection
    }

    private func encrypted(_ peer: TransferConnection, _ engine: CurlEngine) -> HTTP1Connection? {
        engine.removeConnecting(handle: easy.address)
        let connection = HTTP1Connection(
            key, peer: peer, socket: easy.activeSocket, number: engine.connections.newNumber(), tls: easy)
        // The transfer, to which this callback belongs, may end before the connection.
        easy.set(CURLOPT_NOPROGRESS, 1)
        // The first read attaches the connection to the handle; until then libcurl may close it as idle.
        connection.attach()
        guard engine.poller.add(connection.socket, number: connection.number) else {
            engine.inbox.multi.remove(easy)
            return nil
        }
        return connection
    }
}
