import FlyingFox
import FlyingSocks
import Foundation
import Glibc

/// A small backend on 127.0.0.1 that accepts forms at `POST /upload` and responds with their fields and files.
///
/// ```swift
/// let receiver = try await Receiver.start(.init(token: "s3cr3t"))
/// print(receiver.url)                              // http://127.0.0.1:40213/upload
/// print(receiver.page)                             // http://127.0.0.1:40213/#watch=5d0c…
/// await receiver.stop()
/// ```
///
/// Bodies are parsed while they arrive and files are written to the disk, so memory is constant.
public final class Receiver: Sendable {
    /// The configuration of a backend.
    public struct Configuration: Sendable {
        /// The required value of the field `TOKEN`.
        public var token: String
        /// The directory for files; `nil` for a temporary one, which ``Receiver/stop()`` removes.
        public var directory: String?
        /// The largest request body in bytes.
        public var sizeLimit: Int
        /// The port; 0 for a free one.
        public var port: UInt16
        /// The time after which an unfinished resumable upload is removed.
        public var unfinishedLifetime = Duration.seconds(3_600)
        /// The time for which the response of a resumable upload is kept.
        public var responseLifetime = Duration.seconds(60)
        /// The largest number of resumable uploads.
        public var maxUnfinished = 32
        /// For demonstrations: the percentage of the first resumable upload at which its connection is closed, once.
        public var cutPercent: Int?

        /// Creates a configuration.
        public init(token: String, directory: String? = nil, sizeLimit: Int = 64 << 20, port: UInt16 = 0) {
            self.token = token
            self.directory = directory
            self.sizeLimit = sizeLimit
            self.port = port
        }
    }

    /// The URL for forms.
    public let url: String
    /// The link of the page, which sends cards and shows uploads. Its fragment is the key to all uploads of this run;
    /// without it the page can only send.
    public let page: String
    /// The directory of the files.
    public let directory: String

    private let server: HTTPServer
    private let running: Task<Void, any Error>
    private let removesDirectory: Bool
    private let journal: Journal
    let unfinished: ResumableUploads

    private init(
        server: HTTPServer, running: Task<Void, any Error>, port: UInt16, directory: String, removesDirectory: Bool,
        watch: PageHandler, unfinished: ResumableUploads
    ) {
        self.server = server
        journal = watch.journal
        self.running = running
        self.unfinished = unfinished
        self.directory = directory
        self.removesDirectory = removesDirectory
        url = "http://127.0.0.1:\(port)/upload"
        page = "http://127.0.0.1:\(port)/#watch=\(watch.key)"
    }

    /// Starts a backend.
    ///
    /// - Parameter configuration: The configuration.
    /// - Returns: The listening backend.
    /// - Throws: ``ReceiverError`` if the port is in use or not allowed, or the directory is missing or not writable.
    public static func start(_ configuration: Configuration) async throws -> Receiver {
        if let directory = configuration.directory { try StoredFile.checkDirectory(directory) }
        let directory = try configuration.directory ?? StoredFile.makeDirectory()
        let server = HTTPServer(
            config: HTTPServer.Configuration(
                address: try .inet(ip4: "127.0.0.1", port: configuration.port),
                // This limits a whole request including its body, so allow for slow connections.
                timeout: 3_600,
                // Bodies up to this size are read before the handler is called. The server reads 4 KiB at a time
                // anyway.
                sharedRequestBufferSize: 4_096,
                // Bodies above this size are streamed, smaller ones replayed from memory. Stream all.
                sharedRequestReplaySize: 0,
                logger: .disabled))
        let journal = Journal()
        let page = PageHandler(key: RandomName.make(), journal: journal)
        let forms = UploadHandler(
            token: configuration.token, directory: directory, sizeLimit: configuration.sizeLimit, journal: journal)
        let unfinished = try ResumableUploads(configuration, forms: forms)
        let uploads = ResumableHandler(configuration: configuration, forms: forms, uploads: unfinished)
        for route in ["POST,OPTIONS /upload", "HEAD,GET,PATCH,DELETE /upload/*"] {
            await server.appendRoute(HTTPRoute(route), to: uploads)
        }
        for route in ["GET /", "GET /page/*", "GET /watch/*"] { await server.appendRoute(HTTPRoute(route), to: page) }
        let listening = Task { try await server.waitUntilListening(timeout: 60) }
        let running = Task {
            // If the server fails before it listens, for example because the port is in use, stop waiting.
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
            await unfinished.removeAll()
            throw ReceiverError(port: configuration.port, reason)
        }
        guard case .ip4(_, let port) = await server.listeningAddress else {
            running.cancel()
            throw ReceiverError("The port of the server is unknown.")
        }
        return Receiver(
            server: server, running: running, port: port, directory: directory,
            removesDirectory: configuration.directory == nil, watch: page,
            unfinished: unfinished)
    }

    /// Waits until a page is open with the complete link. Returns early if the task is cancelled.
    public func waitForWatcher() async { await journal.waitForWatcher() }

    /// Closes the port and the connections, and removes the files unless `Configuration.directory` was set.
    public func stop() async {
        await server.stop()
        running.cancel()
        _ = await running.result
        await unfinished.removeAll()
        if removesDirectory { try? FileManager.default.removeItem(atPath: directory) }
    }
}

/// An error of the backend.
public struct ReceiverError: Error, CustomStringConvertible {
    /// The reason and the remedy.
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// Creates the error of a port that could not be opened.
    init(port: UInt16, _ error: any Error) {
        switch error {
        case SocketError.failed(_, errno: EADDRINUSE, _):
            description = """
                Port \(port) of 127.0.0.1 is in use, perhaps by another Receiver. Stop that program, or choose another \
                port with --port; --port 0 takes a free one.
                """
        case SocketError.failed(_, errno: EACCES, _):
            description = "Port \(port) of 127.0.0.1 needs root privileges. Choose a port above 1023 with --port."
        default:
            description = "Listening on port \(port) of 127.0.0.1 failed: \(error)"
        }
    }
}
