import FlyingFox
import FlyingSocks
import Foundation
import Glibc

/// A small backend on 127.0.0.1 that takes forms at `POST /upload` and says exactly what it got.
///
/// ```swift
/// let receiver = try await Receiver.start(.init(token: "s3cr3t"))
/// print(receiver.url)                              // http://127.0.0.1:40213/upload
/// print(receiver.page)                             // http://127.0.0.1:40213/#watch=5d0c…
/// await receiver.stop()
/// ```
///
/// Bodies are parsed as they arrive and files go straight to the disk, so memory stays flat whatever comes in.
public final class Receiver: Sendable {
    /// How it is to be run.
    public struct Configuration: Sendable {
        /// The `TOKEN` that a form must carry.
        public var token: String
        /// Where files are kept; `nil` for a directory of its own that is gone after ``Receiver/stop()``.
        public var directory: String?
        /// The largest request body in bytes.
        public var sizeLimit: Int
        /// The port; 0 for one that is free.
        public var port: UInt16

        /// Describes a backend.
        public init(token: String, directory: String? = nil, sizeLimit: Int = 64 << 20, port: UInt16 = 0) {
            self.token = token
            self.directory = directory
            self.sizeLimit = sizeLimit
            self.port = port
        }
    }

    /// Where forms are to be posted to.
    public let url: String
    /// The page for people, where cards are sent and what arrives is shown. Whoever has the link can see all of it, as long
    /// as this backend runs; without what stands behind `#` the page can send and not see.
    public let page: String
    /// Where files are kept.
    public let directory: String

    private let server: HTTPServer
    private let running: Task<Void, any Error>
    private let removesDirectory: Bool
    private let journal: Journal

    private init(
        server: HTTPServer, running: Task<Void, any Error>, port: UInt16, directory: String, removesDirectory: Bool,
        watch: PageHandler
    ) {
        self.server = server
        journal = watch.journal
        self.running = running
        self.directory = directory
        self.removesDirectory = removesDirectory
        url = "http://127.0.0.1:\(port)/upload"
        page = "http://127.0.0.1:\(port)/#watch=\(watch.key)"
    }

    /// Starts a backend.
    ///
    /// - Parameter configuration: How it is to be run.
    /// - Returns: The backend, which listens already.
    /// - Throws: ``ReceiverError`` when the port is in use or not allowed, or the directory is missing or not writable.
    public static func start(_ configuration: Configuration) async throws -> Receiver {
        if let directory = configuration.directory { try StoredFile.checkDirectory(directory) }
        let directory = try configuration.directory ?? StoredFile.makeDirectory()
        let server = HTTPServer(
            config: HTTPServer.Configuration(
                address: try .inet(ip4: "127.0.0.1", port: configuration.port),
                // It bounds a whole request, its body included, so it has to allow for a slow line.
                timeout: 3_600,
                // Bodies up to it are read before a handler sees them; the server reads no more at a time anyway.
                sharedRequestBufferSize: 4_096,
                // Bodies above it are streamed and below it replayed from memory. Nothing is replayed here.
                sharedRequestReplaySize: 0,
                logger: .disabled))
        let journal = Journal()
        let page = PageHandler(key: RandomName.make(), journal: journal)
        await server.appendRoute(
            "POST /upload",
            to: UploadHandler(
                token: configuration.token, directory: directory, sizeLimit: configuration.sizeLimit, journal: journal))
        for route in ["GET /", "GET /page/*", "GET /watch/*"] { await server.appendRoute(HTTPRoute(route), to: page) }
        let listening = Task { try await server.waitUntilListening(timeout: 60) }
        let running = Task {
            // A server that ends before it listens, as when its port is in use, ends the wait with it.
            defer { listening.cancel() }
            try await server.run()
        }
        do {
            try await listening.value
        } catch {
            running.cancel()
            var reason = error
            if case .failure(let failure) = await running.result { reason = failure }
            if configuration.directory == nil { try? FileManager.default.removeItem(atPath: directory) }
            throw ReceiverError(port: configuration.port, reason)
        }
        guard case .ip4(_, let port) = await server.listeningAddress else {
            running.cancel()
            throw ReceiverError("the server does not know its own port")
        }
        return Receiver(
            server: server, running: running, port: port, directory: directory,
            removesDirectory: configuration.directory == nil, watch: page)
    }

    /// Waits until somebody has opened the page with its whole link. Cancelling the task ends the waiting.
    public func waitForWatcher() async { await journal.waitForWatcher() }

    /// Closes the port and the connections, and removes the files unless they were asked to be kept.
    public func stop() async {
        await server.stop()
        running.cancel()
        _ = await running.result
        if removesDirectory { try? FileManager.default.removeItem(atPath: directory) }
    }
}

/// Why a backend can't do its work, for a person to read.
public struct ReceiverError: Error, CustomStringConvertible {
    /// The reason.
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// Why nothing listens on a port of 127.0.0.1.
    init(port: UInt16, _ error: any Error) {
        switch error {
        case SocketError.failed(_, errno: EADDRINUSE, _):
            description = """
                Port \(port) of 127.0.0.1 is in use, perhaps by another Receiver. Stop that program, or choose another \
                port with --port; --port 0 takes a free one.
                """
        case SocketError.failed(_, errno: EACCES, _):
            description = "Port \(port) of 127.0.0.1 needs root rights. Choose a port above 1023 with --port."
        default:
            description = "Listening on port \(port) of 127.0.0.1 failed: \(error)"
        }
    }
}
