import HTTPTypes
import TestSupport
import WaybillCore
import WaybillTesting

/// The server of the conformance checks without sockets: each URL identifies a script, and the transports that it
/// creates play the scripts of their URLs.
final class ScriptedConformanceServer: ConformanceServer {
    private let scripts = Watched<[String: TransferScript]>([:])
    private let transports = Watched<[ScriptedTransport]>([])

    func makeTransport() -> ScriptedTransport {
        let transport = ScriptedTransport { [scripts] request, _ in
            scripts.value[request.url] ?? .failing(.hostNotFound)
        }
        transports.update { $0.append(transport) }
        return transport
    }

    func url(for behaviour: ConformanceBehaviour) -> String {
        scripts.update { scripts in
            let url = "http://server.example/\(scripts.count)"
            scripts[url] = Self.script(behaviour)
            return url
        }
    }

    func body(at url: String) -> [UInt8] {
        transports.value.flatMap(\.transfers).last { $0.request.url == url }?.body ?? []
    }

    private static func script(_ behaviour: ConformanceBehaviour) -> TransferScript {
        switch behaviour {
        case .respond(let status, let text): .responding(HTTPResponse.Status(code: status), body: text)
        case .respondEarly(let status): .respondingEarly(HTTPResponse.Status(code: status))
        case .closeDuringBody(let count): .breaking(after: Int64(count))
        case .truncateResponseHead: .losingResponse
        case .truncateResponse: .truncatingResponse()
        case .stall(let count): .stalling(after: Int64(count))
        case .silent: .silent
        case .refuse: .failing(.cannotConnect)
        }
    }
}
