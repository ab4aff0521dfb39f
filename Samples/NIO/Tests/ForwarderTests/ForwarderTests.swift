import Foundation
import FoundationNetworking
import Hummingbird
import Logging
import NIOCore
import Testing
import Waybill

@Suite(.timeLimit(.minutes(5)), .serialized)
struct ForwarderTests {
    /// A debug build parses slowly, and the smaller size also shows constant memory.
    static var largeSize: Int {
        #if DEBUG
            256 << 20
        #else
            1 << 30
        #endif
    }

    @Test func `a large part is forwarded completely in constant memory`() async throws {
        try await withSink { sink in
            let forwarder = try await ForwarderProcess(target: sink)
            defer { forwarder.stop() }
            // Warm up: code pages, threads, connections.
            #expect(try await send(1 << 20, to: forwarder.url).contains("FILE:\(1 << 20)"))
            let small = try forwarder.peakMemory
            #expect(try await send(Self.largeSize, to: forwarder.url).contains("FILE:\(Self.largeSize)"))
            let large = try forwarder.peakMemory
            print(
                "Forwarder: peak \(small >> 10) KiB after 1 MiB, \(large >> 10) KiB after \(Self.largeSize >> 20) MiB")
            #expect(large - small <= 8 << 20)
        }
    }

    @Test func `files are forwarded in order, fields are dropped and malformed forms are rejected`() async throws {
        try await withSink { sink in
            let forwarder = try await ForwarderProcess(target: sink)
            defer { forwarder.stop() }
            let forwarded = try await UploadSession.shared.upload(
                [
                    .text("TOKEN", "x"), .data("front", [1, 2, 3], fileName: "身份证.jpg"),
                    .data("back", [], fileName: "../b.jpg"),
                ], to: forwarder.url)
            #expect(forwarded.text == "front: 200 OK 身份证.jpg FILE:3\nback: 200 OK b.jpg FILE:0\n", "\(forwarded.text)")
            var request = URLRequest(url: try #require(URL(string: forwarder.url)))
            request.httpMethod = "POST"
            request.setValue("multipart/form-data; boundary=B", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data("--B\r\nno header\r\n\r\n".utf8)
            let (text, response) = try await URLSession.shared.data(for: request)
            #expect((response as? HTTPURLResponse)?.statusCode == 400)
            #expect(String(decoding: text, as: UTF8.self).hasPrefix("malformedHeader"))
        }
    }

    private func send(_ size: Int, to url: String) async throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("forwarder-\(UUID())").path
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.truncate(atOffset: UInt64(size))
        try file.close()
        return try await UploadSession.shared.upload([.file("large", path: path)], to: url).text
    }

    /// Runs a test with a target server that counts the bytes of each part.
    private func withSink(_ body: @escaping @Sendable (String) async throws -> Void) async throws {
        let router = Router()
        router.post("/sink") { request, _ in
            var text = ""
            let form = try IncomingForm(
                request.body.map { $0.readableBytesView }, contentType: request.headers[.contentType] ?? "")
            for try await part in form {
                var count = 0
                for try await chunk in part.chunks { count += chunk.count }
                text += "\(part.fileName ?? "") \(part.name):\(count)"
            }
            return text
        }
        var logger = Logger(label: "sink")
        logger.logLevel = .error
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        let application = Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { continuation.yield($0.localAddress?.port ?? 0) }, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            let port = try #require(await ports.first { _ in true })
            try await body("http://127.0.0.1:\(port)/sink")
            group.cancelAll()
        }
    }
}

/// The sample in its own process, to measure its memory.
final class ForwarderProcess {
    let url: String
    private let process = Process()

    init(target: String) async throws {
        let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        process.executableURL = products.appendingPathComponent("Forwarder")
        process.arguments = [target]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var line = ""
        while !line.contains("\n") {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { break }
            line += String(decoding: data, as: UTF8.self)
        }
        url = String(try #require(line.split(separator: " ").last).dropLast())
    }

    /// The peak resident memory in bytes (`VmHWM` of `proc_pid_status(5)`).
    var peakMemory: Int {
        get throws {
            let status = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            return try #require(Int(line.filter(\.isNumber))) * 1_024
        }
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }
}
