import AsyncHTTPClient
import BenchDriver
import NIOCore
import NIOSSL

/// Sends the forms with AsyncHTTPClient, in chunks of 512 KiB with a Content-Length: its fastest configuration found.
@main
struct PeerAHC {
    static func main() async throws {
        guard let order = Order(Array(CommandLine.arguments.dropFirst())) else {
            fatalError("PeerAHC URL FILE COUNT AT_ONCE [AUTHORITY]")
        }
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = order.concurrency
        if let authority = order.authority {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(authority)
            configuration.tlsConfiguration = tls
        }
        let client = HTTPClient(configuration: configuration)
        try await order.run { try await post(order, by: client) }
        try await client.shutdown()
    }

    private static func post(_ order: Order, by client: HTTPClient) async throws -> String {
        let length = try FormReader(path: order.path).left
        var request = HTTPClientRequest(url: order.url)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "multipart/form-data; boundary=\(DriverForm.boundary)")
        request.body = .stream(FormChunks(path: order.path), length: .known(Int64(length)))
        let response = try await client.execute(request, timeout: .minutes(10))
        return String(buffer: try await response.body.collect(upTo: 1_024))
    }
}

/// The form in chunks of 512 KiB.
private struct FormChunks: AsyncSequence, Sendable {
    let path: String

    func makeAsyncIterator() -> Iterator { Iterator(path: path) }

    final class Iterator: AsyncIteratorProtocol {
        private let path: String
        private var reader: Reader?

        init(path: String) { self.path = path }

        func next() async throws -> ByteBuffer? {
            let reader = try self.reader ?? Reader(path: path)
            self.reader = reader
            guard reader.form.left > 0 else { return nil }
            let size = Swift.min(reader.form.left, 512 * 1_024)
            var buffer = ByteBufferAllocator().buffer(capacity: size)
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { room in
                reader.form.read(into: UnsafeMutableRawBufferPointer(rebasing: room[..<size]))
            }
            return buffer
        }
    }

    private final class Reader {
        var form: FormReader
        init(path: String) throws { form = try FormReader(path: path) }
    }
}
