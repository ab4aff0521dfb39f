import BenchDriver
import Glibc
import Waybill

/// What the measured process does: `KIND WORD…`.
@main
enum Errand {
    private enum Kind: String {
        /// Sends forms by the public API, nobody watching (`URL FILE COUNT AT_ONCE [AUTHORITY]`, as all drivers).
        case send
        /// The same, with somebody who looks at every snapshot of every upload.
        case watch = "send-watched"
        /// Sends one form and prints what each snapshot said, and when (`URL FILE [AUTHORITY]`).
        case samples = "send-sampled"
        /// Sends the file, or as many bytes, from the given kind of source, and prints the answer (`URL FILE SIZE KIND`).
        case source = "send-source"
        /// Sends so many as a lazy batch, whose results somebody reads, and prints how many answers came (`URL FILE COUNT`).
        case batch = "send-batch"
        /// Sends so many at once (`URL FILE COUNT`).
        case atOnce = "send-at-once"
        /// Sends so many pictures of a folder, each brought under 100 KiB (`URL FOLDER COUNT batch|in-turn`).
        case photos = "send-photos"
        /// Sends nothing: builds so many forms of so many parts, reads them, and prints their bytes (`PARTS FORMS`).
        case build = "build-form"
        /// Sends nothing: parses a form with this content, and prints the speed (`FILE BOUNDARY CHUNK TOTAL`).
        case parse = "parse-form"
    }

    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        guard let kind = words.first.flatMap(Kind.init) else { fail("\(words)? Errand.swift lists what it can do.") }
        Task.detached {
            do {
                try await run(kind, Array(words.dropFirst()))
                exit(0)
            } catch {
                fail("\(error)")
            }
        }
        // The first thread stays: an asynchronous main would end it, which valgrind does not survive.
        while true { pause() }
    }

    private static func run(_ kind: Kind, _ words: [String]) async throws {
        func number(_ index: Int) throws -> Int {
            guard words.count > index, let number = Int(words[index]) else { throw BadWords(words: words) }
            return number
        }
        switch kind {
        case .send, .watch:
            guard let order = Order(words) else { throw BadWords(words: words) }
            try await Sending.carryOut(order, isWatched: kind == .watch)
        case .samples: try await Sending.sample(words[0], path: words[1], authority: words.dropFirst(2).first)
        case .source:
            guard words.count == 4, let source = MemorySource(rawValue: words[3]) else { throw BadWords(words: words) }
            let content = try source.content(path: words[1], size: number(2))
            print(try await UploadSession.shared.upload(content, to: words[0], method: .post).text)
        case .batch: print(try await Batches.lazily(url: words[0], path: words[1], count: number(2)))
        case .atOnce: print(try await Batches.atOnce(url: words[0], path: words[1], count: number(2)))
        case .photos:
            let isBatch = words.last == "batch"
            print(try await Batches.photos(url: words[0], folder: words[1], count: number(2), isBatch: isBatch))
        case .build: print(try await FormBuild.build(number(0), forms: number(1)))
        case .parse: print(try ParserRun.parse(words[0], boundary: words[1], chunk: number(2), total: number(3)))
        }
    }

    private static func fail(_ text: String) -> Never {
        let complaint = Array("WaybillErrand: \(text)\n".utf8)
        write(STDERR_FILENO, complaint, complaint.count)
        exit(1)
    }
}

struct BadWords: Error {
    var words: [String]
}
