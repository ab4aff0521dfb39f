import FlyingFox
import Foundation
import WaybillJPEG
import WaybillMultipart

/// Serves the page at `GET /`, and the uploads under a path with the key.
///
/// The page itself is public and contains no data. The key has 128 random bits and is in the fragment of
/// ``Receiver/page``, which browsers do not send.
struct PageHandler: HTTPHandler {
    let key: String
    let journal: Journal
    private let renderer = ImageRenderer()

    init(key: String, journal: Journal) {
        self.key = key
        self.journal = journal
    }

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        // Any other name that resolves to 127.0.0.1 may be a DNS rebinding attack.
        guard Self.isLoopback(request.headers[.host]) else {
            return try PageReply.failure(
                .misdirectedRequest, "This server only accepts the host 127.0.0.1 or localhost.")
        }
        switch PageRoute(path: request.path) {
        case .page:
            return PageReply.make("text/html; charset=utf-8", PageFiles.html, policy: PageReply.policy)
        case .asset(let name):
            guard let (type, body) = PageFiles.asset(name) else { return try notFound() }
            return PageReply.make(type, body)
        case .events(let given):
            guard Bytes.areEqual(given, key) else { return try notFound() }
            return try await events()
        case .arrival(let given, let id, let index, let view):
            guard Bytes.areEqual(given, key), let file = await journal.file(index, of: id) else {
                return try notFound()
            }
            return try await respond(file, view)
        case nil:
            return try notFound()
        }
    }

    private func notFound() throws -> HTTPResponse { try PageReply.failure(.notFound, "There is no such resource.") }

    private func events() async throws -> HTTPResponse {
        guard let watch = await journal.watch() else {
            return try PageReply.failure(.serviceUnavailable, "Too many pages are open. Close another one.")
        }
        return PageReply.make(
            "text/event-stream", HTTPBodySequence(from: EventStream(journal: journal, watch: watch)))
    }

    private func respond(_ file: Journal.FileReference, _ view: PageRoute.View) async throws -> HTTPResponse {
        if view == .file {
            let name = MultipartPartHead(name: "", fileName: file.fileName).safeFileName ?? "file"
            return try PageReply.download(file.path, name: name)
        }
        let images: ImageRenderer.Images
        do {
            images = try await renderer.images(of: file.path)
        } catch let error as JPEGError {
            return try PageReply.failure(.unprocessableContent, error.message)
        }
        switch view {
        case .arrived: return PageReply.make("image/jpeg", Data(images.arrived.bytes))
        case .small: return PageReply.make("image/jpeg", Data(images.small.bytes))
        case .facts, .file: return try PageReply.json(ImageFacts(images))
        }
    }

    /// Returns whether a host is a loopback address or `localhost`, with any port, because tunnels choose other ones.
    static func isLoopback(_ host: String?) -> Bool {
        guard let host else { return false }
        return host.wholeMatch(of: /(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?/.ignoresCase()) != nil
    }
}

/// The figures of the two images for the page.
private struct ImageFacts: Encodable {
    struct Image: Encodable {
        let bytes: Int
        let width: Int
        let height: Int
    }

    let limit: Int64
    let arrived: Image
    let small: Image
    let milliseconds: Int
    let isUntouched: Bool
    let stripped: [String]

    init(_ images: ImageRenderer.Images) {
        let report = images.small.report
        limit = ImageRenderer.limit.bytes
        arrived = Image(bytes: report.originalBytes, width: report.originalWidth, height: report.originalHeight)
        small = Image(bytes: report.bytes, width: report.width, height: report.height)
        milliseconds = Int(report.cpuTime / .milliseconds(1))
        isUntouched = report.isPassedThrough
        stripped = report.stripped
    }
}

/// The files of the page, embedded in the program.
enum PageFiles {
    static var html: Data { Data(PackageResources.page_html) }

    static func asset(_ name: String) -> (type: String, body: Data)? {
        switch name {
        case "page.css": ("text/css; charset=utf-8", Data(PackageResources.page_css))
        case "page.svg": ("image/svg+xml", Data(PackageResources.page_svg))
        case "send.js": (script, Data(PackageResources.send_js))
        case "watch.js": (script, Data(PackageResources.watch_js))
        case "compare.js": (script, Data(PackageResources.compare_js))
        case "words.js": (script, Data(PackageResources.words_js))
        default: nil
        }
    }

    private static let script = "text/javascript; charset=utf-8"
}

/// Comparison of secrets.
enum Bytes {
    /// Returns whether two strings have the same bytes, in constant time for equal lengths.
    static func areEqual(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// The routes of the page.
enum PageRoute: Equatable {
    case page
    /// A file of the page.
    case asset(String)
    case events(key: String)
    case arrival(key: String, id: String, file: Int, view: View)

    enum View: String {
        case facts = "facts.json"
        case arrived = "arrived.jpg"
        case small = "small.jpg"
        case file
    }

    /// Parses a path; `nil` if there is no such route.
    init?(path: String) {
        let steps = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        switch (steps.first, steps.count) {
        case (nil, 0):
            self = .page
        case ("page", 2):
            self = .asset(steps[1])
        case ("watch", 3) where steps[2] == "events":
            self = .events(key: steps[1])
        case ("watch", 6) where steps[2] == "arrivals":
            guard let file = Int(steps[4]), let view = View(rawValue: steps[5]) else { return nil }
            self = .arrival(key: steps[1], id: steps[3], file: file, view: view)
        default:
            return nil
        }
    }
}
