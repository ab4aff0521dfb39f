import Waybill

/// What this program does when it is started as the measured process: `KIND URL FILE [COUNT [SOURCE]]`.
struct Errand {
    enum Kind: String {
        /// Sends the form and prints the answer.
        case once = "send-once"
        /// The same, with somebody who looks at every snapshot.
        case watch = "send-watched"
        /// Sends it so many times, one after the other, and prints how many answers came.
        case many = "send-many"
        /// Sends the file, or as many bytes as it would have, from the given kind of source.
        case source = "send-source"
        /// Sends so many as a lazy batch, whose results somebody reads, and prints how many answers came.
        case batch = "send-batch"
        /// Sends so many at once.
        case atOnce = "send-at-once"
        /// Sends so many pictures of a folder, each brought under 100 KiB: as a `batch`, or in turn (`- FOLDER COUNT WAY`).
        case photos = "send-photos"
        /// Sends nothing: builds so many forms of so many parts (`- - PARTS FORMS`), and reads them.
        case build = "build-form"
        /// Sends nothing: parses a form with this content (`FILE BOUNDARY CHUNK TOTAL`).
        case parse = "parse-form"
        /// What ``OutboxErrand`` does (`STEP FOLDER COUNT [URL]`).
        case outbox = "run-outbox"
    }

    private let kind: Kind
    private let url: String
    private let path: String
    private let count: Int
    private let source: MemorySource
    private let forms: Int
    private let isBatch: Bool
    private let words: ArraySlice<String>

    init?(_ arguments: [String]) {
        guard arguments.count >= 3, let kind = Kind(rawValue: arguments[0]) else { return nil }
        self.kind = kind
        words = arguments.dropFirst()
        url = arguments[1]
        path = arguments[2]
        count = arguments.count > 3 ? Int(arguments[3]) ?? 1 : 1
        forms = arguments.count > 4 ? Int(arguments[4]) ?? 1 : 1
        isBatch = arguments.last == "batch"
        source = arguments.count > 4 ? MemorySource(rawValue: arguments[4]) ?? .formFile : .formFile
    }

    func run() async throws {
        let session = UploadSession.shared
        switch kind {
        case .once:
            print(try await session.upload(Form.make(path), to: url).text)
        case .watch:
            let response = try await session.upload(Form.make(path), to: url) { progress in
                precondition(progress.acknowledged <= progress.sent)
            }
            print(response.text)
        case .many:
            var answers = 0
            for _ in 0..<count where try await session.upload(Form.make(path), to: url).status == .ok { answers += 1 }
            print(answers)
        case .batch: print(try await Batches.lazily(url: url, path: path, count: count))
        case .atOnce: print(try await Batches.atOnce(url: url, path: path, count: count))
        case .photos: print(try await Batches.photos(url: url, folder: path, count: count, isBatch: isBatch))
        case .source:
            let content = source.content(path: path, size: count)
            print(try await session.upload(content, to: url, method: .post).text)
        case .parse:
            print(try ParserBench.parse(url, boundary: path, chunk: count, total: forms))
        case .outbox: try await OutboxErrand(words).run()
        case .build:
            print(try await PartCount.build(count, forms: forms))
        }
    }
}
