import TestSupport
import WaybillCore
import WaybillTesting

/// The server of the conformance checks on real sockets. Each URL is a path with its own behavior.
final class LoopbackConformanceServer: ConformanceServer {
    private let server: LoopbackServer
    private let closed: ClosedPort
    private let paths = Watched(0)

    init() throws {
        // A small buffer: bytes that the server has not read stay with the client and are visible there.
        server = try LoopbackServer(receiveBuffer: .kibibytes(64))
        closed = try ClosedPort()
    }

    func url(for behaviour: ConformanceBehaviour) -> String {
        let path = paths.update { count in
            count += 1
            return "/\(count)"
        }
        guard let behaviour = Self.behaviour(behaviour) else { return closed.url(path) }
        server.route(path, behaviour)
        return server.url(path)
    }

    func body(at url: String) -> [UInt8] {
        server.requests.last { url.hasSuffix(":\(server.port)\($0.path)") }?.body ?? []
    }

    private static func behaviour(_ behaviour: ConformanceBehaviour) -> Behaviour? {
        switch behaviour {
        case .respond(let status, let text): .respond(status, body: text)
        // A rejection closes the connection. A success leaves it open for the rest of the body, which is never read.
        case .respondEarly(let status) where status < 300: .early(ScriptedResponse(status), then: .hold)
        case .respondEarly(let status):
            .early(ScriptedResponse(status, headers: [("Connection", "close")]), then: .close(.finish))
        case .closeDuringBody(let count): .close(afterBodyBytes: count, .abandon)
        case .truncateResponseHead: .truncatedResponse("HTTP/1.1 200 OK\r\nConte")
        case .truncateResponse: .truncatedResponseBody(announced: 8, sent: "half")
        case .stall(let count): .stall(afterBodyBytes: count)
        case .silent: .neverRespond
        case .refuse: nil
        }
    }
}
