import Crypto
import FlyingFox
import FlyingSocks
import Foundation

/// An object store on 127.0.0.1 that speaks as much of OSS as the samples need: PutObject and PostObject, signed by version 4,
/// the bucket in the path.
///
/// It checks signatures, tokens, times and policies, so that a sample that runs is a sample that is right.
public final class LittleStore: Sendable {
    /// An object as it came.
    public struct Object: Sendable, Equatable {
        /// Its bytes.
        public let bytes: [UInt8]
        /// Its content type.
        public let contentType: String
    }

    /// The service: `http://127.0.0.1:1234`.
    public let endpoint: String
    private let keys: KeyRing
    private let objects: Shelf
    private let server: HTTPServer
    private let running: Task<Void, any Error>

    /// Starts it on a free port.
    ///
    /// - Parameter keys: Who may come in. The server that hands out keys has the same ring.
    /// - Throws: When nothing can listen.
    public init(keys: KeyRing) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        let shelf = Shelf()
        await server.appendRoute("PUT /*") { await Self.answer($0) { try await Self.put($0, keys, shelf) } }
        await server.appendRoute("POST /*") { await Self.answer($0) { try await Self.post($0, keys, shelf) } }
        self.keys = keys
        self.server = server
        objects = shelf
        running = Task { try await server.run() }
        try await server.waitUntilListening(timeout: 5)
        guard case .ip4(_, let port) = await server.listeningAddress else { throw CancellationError() }
        endpoint = "http://127.0.0.1:\(port)"
    }

    /// Closes the port.
    public func stop() async {
        await server.stop()
        running.cancel()
    }

    /// What was put there, by `bucket/key`.
    public var contents: [String: Object] {
        get async { await objects.contents }
    }

    // MARK: Requests

    private static func put(_ request: HTTPRequest, _ keys: KeyRing, _ shelf: Shelf) async throws -> HTTPResponse {
        let name = try name(request)
        try await RequestCheck(request, resource: name).run(keys)
        let bytes = Array(try await request.bodyData)
        await shelf.put(name, Object(bytes: bytes, contentType: request.headers[.contentType] ?? ""))
        return stored(bytes, status: .ok)
    }

    private static func post(_ request: HTTPRequest, _ keys: KeyRing, _ shelf: Shelf) async throws -> HTTPResponse {
        let bucket = try name(request)
        let form = try PostedForm(Array(try await request.bodyData), contentType: request.headers[.contentType] ?? "")
        let key = try await form.check(keys, bucket: bucket)
        await shelf.put("\(bucket)/\(key)", Object(bytes: form.file, contentType: form.fileType))
        return stored(form.file, status: form.fields["success_action_status"] == "200" ? .ok : .noContent)
    }

    /// The path without its slashes at both ends, decoded: `bucket` or `bucket/key`.
    private static func name(_ request: HTTPRequest) throws -> String {
        guard let path = request.target.path().removingPercentEncoding, path.hasPrefix("/"), path.count > 1 else {
            throw Refusal(.badRequest, "InvalidArgument", "The path names no bucket.")
        }
        return String(path.dropFirst().drop(while: { $0 == "/" })).trimmingCharacters(in: ["/"])
    }

    private static func stored(_ bytes: [UInt8], status: HTTPStatusCode) -> HTTPResponse {
        let digest = Insecure.MD5.hash(data: bytes).map { String(format: "%02X", $0) }.joined()
        return HTTPResponse(
            statusCode: status,
            headers: [
                HTTPHeader("ETag"): "\"\(digest)\"", HTTPHeader("x-oss-hash-crc64ecma"): "\(Checksum.of(bytes))",
                HTTPHeader("x-oss-request-id"): "5C3D9175B6FC201293AD0001",
            ])
    }

    private static func answer(
        _ request: HTTPRequest, _ work: (HTTPRequest) async throws -> HTTPResponse
    ) async -> HTTPResponse {
        do {
            return try await work(request)
        } catch {
            let refusal = error as? Refusal ?? Refusal(.badRequest, "InvalidArgument", "\(error)")
            // What was not read of a body would be taken for the next request.
            _ = try? await request.bodyData
            return HTTPResponse(
                statusCode: refusal.status, headers: [.contentType: "application/xml"], body: Data(refusal.xml.utf8))
        }
    }
}

/// The objects.
private actor Shelf {
    private(set) var contents: [String: LittleStore.Object] = [:]
    func put(_ name: String, _ object: LittleStore.Object) { contents[name] = object }
}

/// A no of the store, in its words.
struct Refusal: Error {
    let status: HTTPStatusCode
    let code: String
    let message: String

    init(_ status: HTTPStatusCode, _ code: String, _ message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    var xml: String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <Error><Code>\(code)</Code><Message>\(message)</Message><RequestId>5C3D9175B6FC201293AD0001</RequestId></Error>
        """
    }
}

/// CRC-64/XZ, a byte at a time: slow, and short enough to be read.
enum Checksum {
    static func of(_ bytes: [UInt8]) -> UInt64 {
        ~bytes.reduce(~0) { checksum, byte in
            table[Int(UInt8(truncatingIfNeeded: checksum) ^ byte)] ^ (checksum >> 8)
        }
    }

    private static let table: [UInt64] = (0..<256).map { byte in
        (0..<8).reduce(UInt64(byte)) { value, _ in
            value & 1 == 1 ? value >> 1 ^ 0xC96C_5795_D787_0F42 : value >> 1
        }
    }
}
