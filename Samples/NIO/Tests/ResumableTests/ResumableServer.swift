import Glibc
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import NIOResumableUpload

/// A server on 127.0.0.1 with `NIOResumableUpload` of swift-nio-extras, whose application collects bodies. Connections
/// are interrupted at the given numbers of received bytes.
final class ResumableServer: Sendable {
    /// What happens to a connection.
    enum Cut: Sendable, Hashable {
        /// It is closed.
        case close
        /// It is reset.
        case reset
        /// It stays open, and what arrives is ignored.
        case silence
        /// It is closed, and the server loses its uploads.
        case loss
    }

    /// The behaviour of the application.
    enum Reply: Sendable, Hashable {
        case status(HTTPResponse.Status)
        /// The connection is closed without a response.
        case none
    }

    /// A request that the application received to its end.
    struct Arrival: Sendable {
        let head: HTTPRequest
        let body: [UInt8]
    }

    fileprivate struct State: Sendable {
        var cuts: [(position: Int, cut: Cut)]
        var reply: Reply
        /// The number of bytes of all connections, heads included.
        var received = 0
        var creations = 0
        var arrivals: [Arrival] = []
        /// Scheme, host and port; empty before the server listens.
        var origin = ""
        var context = HTTPResumableUploadContext(origin: "")

        mutating func loseUploads() { context = HTTPResumableUploadContext(origin: origin) }
    }

    fileprivate let state: NIOLockedValueBox<State>
    private let channel: any Channel
    /// One thread: with several, swift-nio-extras 1.35.2 sometimes never sends the response to the second request of a
    /// connection that continues an upload of another thread.
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    var url: String { state.withLockedValue { "\($0.origin)/form" } }

    init(cuts: [(position: Int, cut: Cut)] = [], reply: Reply = .status(.ok)) async throws {
        let state = NIOLockedValueBox(State(cuts: cuts, reply: reply))
        self.state = state
        channel = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let context = state.withLockedValue { $0.context }
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(Cutter(state))
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                    try pipeline.addHandler(
                        HTTPResumableUploadHandler(context: context) { upload in
                            try? upload.pipeline.syncOperations.addHandler(Application(state))
                        })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        state.withLockedValue { state in
            state.origin = "http://127.0.0.1:\(port)"
            state.loseUploads()
        }
    }

    func stop() async throws { try await group.shutdownGracefully() }

    /// The requests that the application received to their end.
    var arrivals: [Arrival] { state.withLockedValue { $0.arrivals } }
    /// The number of requests whose head the application received.
    var creations: Int { state.withLockedValue { $0.creations } }

    /// Adds a cut at a number of bytes from now.
    func cut(after count: Int, _ cut: Cut) {
        state.withLockedValue { $0.cuts.append(($0.received + count, cut)) }
    }
}

/// Interrupts connections.
private final class Cutter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let state: NIOLockedValueBox<ResumableServer.State>
    private var isSilent = false

    init(_ state: NIOLockedValueBox<ResumableServer.State>) {
        self.state = state
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isSilent else { return }
        var buffer = unwrapInboundIn(data)
        let (count, cut) = state.withLockedValue { state in
            let end = state.received + buffer.readableBytes
            guard let next = state.cuts.first, next.position <= end else {
                state.received = end
                return (buffer.readableBytes, ResumableServer.Cut?.none)
            }
            let count = next.position - state.received
            state.received = next.position
            return (count, state.cuts.removeFirst().cut)
        }
        if let slice = buffer.readSlice(length: count) { context.fireChannelRead(wrapInboundOut(slice)) }
        guard let cut else { return }
        isSilent = true
        switch cut {
        case .silence: return
        case .close: break
        case .reset:
            // Called on the event loop, so the option is set when this returns.
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        case .loss: state.withLockedValue { $0.loseUploads() }
        }
        context.close(promise: nil)
    }
}

/// Collects the body of a request and responds.
private final class Application: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    private let state: NIOLockedValueBox<ResumableServer.State>
    private var head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
    private var body: [UInt8] = []

    init(_ state: NIOLockedValueBox<ResumableServer.State>) {
        self.state = state
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            guard head.method != .options else { return respond(.notImplemented, context) }
            state.withLockedValue { $0.creations += 1 }
        case .body(let buffer): body += buffer.readableBytesView
        case .end:
            guard head.method != .options else { return }
            let reply = state.withLockedValue { state in
                state.arrivals.append(ResumableServer.Arrival(head: head, body: body))
                return state.reply
            }
            switch reply {
            case .status(let status): respond(status, context)
            case .none: context.close(promise: nil)
            }
        }
    }

    private func respond(_ status: HTTPResponse.Status, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(HTTPResponse(status: status))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
