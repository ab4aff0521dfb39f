import FlyingFox
import Foundation
import WaybillJPEG
import WaybillMultipart

/// Serves the page at `GET /`, and to those who hold the key what arrives.
///
/// The page itself is public and knows nothing. What arrives is shown under a path that holds 128 random bits, which only
/// the link has that ``Receiver/page`` is; browsers don't send it on.
struct PageHandler: HTTPHandler {
    let key: String
    let journal: Journal
    private let studio = PictureStudio()

    init(key: String, journal: Journal) {
        self.key = key
        self.journal = journal
    }

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        // A name that leads to 127.0.0.1 only now belongs to somebody else's page (DNS rebinding).
        guard Self.isOurs(request.headers[.host]) else {
            return try PageReply.refusal(.misdirectedRequest, "this server is 127.0.0.1 and nothing else")
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
            return try await answer(file, view)
        case nil:
            return try notFound()
        }
    }

    private func notFound() throws -> HTTPResponse { try PageReply.refusal(.notFound, "there is nothing here") }

    private func events() async throws -> HTTPResponse {
        guard let watch = await journal.watch() else {
            return try PageReply.refusal(.serviceUnavailable, "too many pages are open")
        }
        return PageReply.make(
            "text/event-stream", HTTPBodySequence(from: EventStream(journal: journal, watch: watch)))
    }

    private func answer(_ file: Journal.Kept, _ view: PageRoute.View) async throws -> HTTPResponse {
        if view == .file {
            let name = MultipartPartHead(name: "", fileName: file.fileName).safeFileName ?? "file"
            return try PageReply.download(file.path, name: name)
        }
        let pictures: PictureStudio.Pictures
        do {
            pictures = try await studio.pictures(of: file.path)
        } catch let error as JPEGError {
            return try PageReply.refusal(.unprocessableContent, error.message)
        }
        switch view {
        case .arrived: return PageReply.make("image/jpeg", Data(pictures.arrived.bytes))
        case .small: return PageReply.make("image/jpeg", Data(pictures.small.bytes))
        case .facts, .file: return try PageReply.json(PictureFacts(pictures))
        }
    }

    /// Whether a host is this machine's loopback address or its usual name, on whatever port a tunnel has given it.
    static func isOurs(_ host: String?) -> Bool {
        guard let host else { return false }
        return host.wholeMatch(of: /(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?/.ignoresCase()) != nil
    }
}

/// What the page says of the two pictures.
private struct PictureFacts: Encodable {
    struct One: Encodable {
        let bytes: Int
        let width: Int
        let height: Int
    }

    let limit: Int64
    let arrived: One
    let small: One
    let milliseconds: Int
    let isUntouched: Bool
    let stripped: [String]

    init(_ pictures: PictureStudio.Pictures) {
        let report = pictures.small.report
        limit = PictureStudio.limit.bytes
        arrived = One(bytes: report.originalBytes, width: report.originalWidth, height: report.originalHeight)
        small = One(bytes: report.bytes, width: report.width, height: report.height)
        milliseconds = Int(report.cpuTime / .milliseconds(1))
        isUntouched = report.isPassedThrough
        stripped = report.stripped
    }
}

/// The files of the page, which are part of the program.
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

/// Comparing secrets.
enum Bytes {
    /// Whether two texts have the same bytes, in a time that does not tell how many of them agree.
    static func areEqual(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
