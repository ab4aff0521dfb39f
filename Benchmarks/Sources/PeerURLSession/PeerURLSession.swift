import BenchDriver
import Foundation
import FoundationNetworking

/// Sends the forms with URLSession in one of two ways: `file` first writes the body to a file, and `stream` reads it
/// from an `InputStream` and sends it chunked.
///
///     PeerURLSession file|stream URL FILE COUNT AT_ONCE
///
/// There is no argument for an authority: on Linux URLSession trusts only those of the system.
@main
struct PeerURLSession {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        guard let way = words.first, ["file", "stream"].contains(way), let order = Order(Array(words.dropFirst()))
        else {
            fatalError("PeerURLSession file|stream URL FILE COUNT AT_ONCE")
        }
        let configuration = URLSessionConfiguration.default
        configuration.httpMaximumConnectionsPerHost = order.concurrency
        configuration.timeoutIntervalForRequest = 600
        let session = URLSession(configuration: configuration)
        let location = URL(string: order.url)!
        try await order.run {
            var request = URLRequest(url: location)
            request.httpMethod = "POST"
            request.setValue(
                "multipart/form-data; boundary=\(DriverForm.boundary)", forHTTPHeaderField: "Content-Type")
            return way == "file"
                ? try await postFile(request, order.path, by: session)
                : try await postStream(request, order.path, by: session)
        }
    }

    private static func postFile(_ request: URLRequest, _ path: String, by session: URLSession) async throws -> String {
        let body = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: body) }
        try writeForm(path, to: body)
        return try await answer { session.uploadTask(with: request, fromFile: body, completionHandler: $0) }
    }

    private static func postStream(
        _ request: URLRequest, _ path: String, by session: URLSession
    ) async throws -> String {
        var request = request
        request.httpBodyStream = try FormStream(path: path)
        return try await answer { session.dataTask(with: request, completionHandler: $0) }
    }

    private static func answer(
        _ task: (@escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void) -> URLSessionTask
    ) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            task { data, _, error in
                if let data {
                    continuation.resume(returning: String(decoding: data, as: UTF8.self))
                } else {
                    continuation.resume(throwing: error ?? URLError(.unknown))
                }
            }.resume()
        }
    }

    private static func writeForm(_ path: String, to file: URL) throws {
        var form = try FormReader(path: path)
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw CocoaError(.fileWriteUnknown)
        }
        let target = try FileHandle(forWritingTo: file)
        defer { try? target.close() }
        var chunk = Data(count: min(1 << 20, form.left))
        while form.left > 0 {
            let count = chunk.withUnsafeMutableBytes { form.read(into: $0) }
            try target.write(contentsOf: count == chunk.count ? chunk : chunk.prefix(count))
        }
    }
}

/// The form as a stream. It is a subclass, because a pair of bound streams would need a thread.
private final class FormStream: InputStream {
    private var form: FormReader
    private var status = Status.notOpen

    init(path: String) throws {
        form = try FormReader(path: path)
        super.init(data: Data())
    }

    override var streamStatus: Status { status }
    override var streamError: (any Error)? { nil }
    override var hasBytesAvailable: Bool { form.left > 0 }
    override func open() { status = .open }
    override func close() { status = .closed }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        let count = form.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: maxLength))
        if form.left == 0 { status = .atEnd }
        return count
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool { false }
}
