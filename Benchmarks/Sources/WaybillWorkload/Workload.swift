import BenchDriver
import Glibc
import Waybill

/// The measured process: `KIND ARGUMENT…`.
@main
enum Workload {
    private enum Kind: String {
        /// Sends forms without observing progress (`URL FILE COUNT AT_ONCE [AUTHORITY]`, as all drivers).
        case send
        /// Sends forms and reads every progress snapshot (same arguments).
        case watch = "send-watched"
        /// Sends forms from tasks on the executor of the session (same arguments).
        case executor = "send-executor"
        /// Sends forms over HTTP/2 (same arguments).
        case http2 = "send-http2"
        /// Sends one form and prints time and acknowledged bytes of each snapshot (`URL FILE [AUTHORITY]`).
        case samples = "send-sampled"
        /// Sends a body from the given kind of source, and prints the response (`URL FILE SIZE KIND`).
        case source = "send-source"
        /// Sends a lazy batch, reads its results, and prints the number of responses (`URL FILE COUNT`).
        case batch = "send-batch"
        /// Sends all forms concurrently (`URL FILE COUNT`).
        case concurrent = "send-at-once"
        /// Sends images of a directory, each compressed below 100 KiB (`URL DIRECTORY COUNT batch|in-turn`).
        case photos = "send-photos"
        /// Builds and reads forms without sending them, and prints their bytes (`PARTS FORMS`).
        case build = "build-form"
        /// Sends forms to a transport that responds immediately (`texts|data|inspected|file FILE COUNT`).
        case alone = "session-alone"
        /// The same with a progress closure.
        case aloneWatched = "session-alone-watched"
        /// Parses a form without sending it, and prints the speed (`FILE BOUNDARY CHUNK TOTAL`).
        case parse = "parse-form"
    }

    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        guard let kind = words.first.flatMap(Kind.init) else {
            fail("The arguments \(words) are invalid. Workload.swift lists them.")
        }
        Task.detached {
            do {
                try await run(kind, Array(words.dropFirst()))
                exit(0)
            } catch {
                fail("\(error)")
            }
        }
        // Keep the first thread: an asynchronous main would end it, which valgrind does not support.
        while true { pause() }
    }

    private static func run(_ kind: Kind, _ words: [String]) async throws {
        func number(_ index: Int) throws -> Int {
            guard words.count > index, let number = Int(words[index]) else { throw BadWords(words: words) }
            return number
        }
        switch kind {
        case .send, .watch, .executor, .http2:
            guard let order = Order(words) else { throw BadWords(words: words) }
            try await Sending.run(
                order, isWatched: kind == .watch, isOnExecutor: kind == .executor,
                httpVersion: kind == .http2 ? .http2 : .http1)
        case .samples: try await Sending.sample(words[0], path: words[1], authority: words.dropFirst(2).first)
        case .source:
            guard words.count == 4, let source = MemorySource(rawValue: words[3]) else { throw BadWords(words: words) }
            let content = try source.content(path: words[1], size: number(2))
            print(try await UploadSession.shared.upload(content, to: words[0], method: .post).text)
        case .batch: print(try await Batches.lazily(url: words[0], path: words[1], count: number(2)))
        case .concurrent: print(try await Batches.concurrently(url: words[0], path: words[1], count: number(2)))
        case .photos:
            let isBatch = words.last == "batch"
            print(try await Batches.photos(url: words[0], directory: words[1], count: number(2), isBatch: isBatch))
        case .build: print(try await FormBuild.build(number(0), forms: number(1)))
        case .alone, .aloneWatched:
            guard let source = words.first.flatMap(SessionAlone.Source.init) else { throw BadWords(words: words) }
            try await SessionAlone.run(source, path: words[1], count: number(2), isWatched: kind == .aloneWatched)
        case .parse: print(try ParserRun.parse(words[0], boundary: words[1], chunk: number(2), total: number(3)))
        }
    }

    private static func fail(_ text: String) -> Never {
        let message = Array("WaybillWorkload: \(text)\n".utf8)
        write(STDERR_FILENO, message, message.count)
        exit(1)
    }
}

struct BadWords: Error {
    var words: [String]
}
