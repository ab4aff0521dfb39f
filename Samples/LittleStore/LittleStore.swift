import Crypto
import FlyingFox
import FlyingSocks
import Foundation

/// An object store on 127.0.0.1 with the part of OSS that the samples need: PutObject and PostObject, with signatures
/// of version 4 and the bucket in the path.
///
/// It verifies signatures, tokens, times and policies.
public final class LittleStore: Sendable {
    /// A stored object.
    public struct Object: Sendable, Equatable {
        /// The content.
        public let bytes: [UInt8]
        /// The content type.
        public let contentType: String

        /// Creates an object.
        public init(bytes: [UInt8], contentType: String) {
            self.bytes = bytes
            self.contentType = contentType
        }
    }

    /// The endpoint: `http://127.0.0.1:1234`.
    public let endpoint: String
    private let keys: KeyRing
    private let objects: ObjectTable
    private let server: HTTPServer
    private let running: Task<Void, any Error>

    /// Starts the server on a free port.
    ///
    /// - Parameter keys: The valid keys. A server that issues keys has the same key ring.
    /// - Throws: An error if the server cannot listen.
    public init(keys: KeyRing) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        let objects = ObjectTable()
        await server.appendRoute("PUT /*") { await Self.respond($0) { try await Self.put($0, keys, objects) } }
        await server.appendRoute("POST /*") { await Self.respond($0) { try await Self.post($0, keys, objects) } }
        self.keys = keys
        self.server = server
        self.objects = objects
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

    /// The objects, by `bucket/key`.
    public var contents: [String: Object] {
        get async { await objects.contents }
    }

    // MARK: Requests

    private static func put(_ request: HTTPRequest, _ keys: KeyRing, _ objects: ObjectTable) async throws
        -> HTTPResponse
    {
        let name = try name(request)
        try await RequestCheck(request, resource: name).run(keys)
        let bytes = Array(try await request.bodyData)
        await objects.put(name, Object(bytes: bytes, contentType: request.headers[.contentType] ?? ""))
        return stored(bytes, status: .ok)
    }

    private static func post(_ request: HTTPRequest, _ keys: KeyRing, _ objects: ObjectTable) async throws
        -> HTTPResponse
    {
        let bucket = try name(request)
        let form = try PostedForm(Array(try await request.bodyData), contentType: request.headers[.contentType] ?? "")
        let key = try await form.check(keys, bucket: bucket)
        await objects.put("\(bucket)/\(key)", Object(bytes: form.file, contentType: form.fileType))
        return stored(form.file, status: form.fields["success_action_status"] == "200" ? .ok : .noContent)
    }

    /// Returns the decoded path without leading and trailing slashes: `bucket` or `bucket/key`.
    private static func name(_ request: HTTPRequest) throws -> String {
        guard let path = request.target.path().removingPercentEncoding, path.hasPrefix("/"), path.count > 1 else {
            throw ErrorResponse(.badRequest, "InvalidArgument", "The path has no bucket.")
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

    private static func respond(
        _ request: HTTPRequest, _ work: (HTTPRequest) async throws -> HTTPResponse
    ) async -> HTTPResponse {
        do {
            return try await work(request)
        } catch {
            let response = error as? ErrorResponse ?? ErrorResponse(.badRequest, "InvalidArgument", "\(error)")
            // An unread body would be parsed as the next request.
            _ = try? await request.bodyData
            return HTTPResponse(
                statusCode: response.status, headers: [.contentType: "application/xml"], body: Data(response.xml.utf8))
        }
    }
}

/// The stored objects.
private actor ObjectTable {
    private(set) var contents: [String: LittleStore.Object] = [:]
    func put(_ name: String, _ object: LittleStore.Object) { contents[name] = object }
}

/// An error response of the store.
struct ErrorResponse: Error {
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

/// CRC-64/XZ, byte by byte: slow but short.
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
