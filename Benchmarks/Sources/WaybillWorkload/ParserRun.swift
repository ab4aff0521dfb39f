import Glibc
import Waybill

/// Parses a form with one file. Its content is fed from memory in chunks, counted and discarded.
enum ParserRun {
    /// Feeds the content repeatedly.
    ///
    /// - Returns: Megabytes per second of CPU time.
    static func parse(_ path: String, boundary: String, chunk: Int, total: Int) throws -> Double {
        let block = try contents(path)
        let head = Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n".utf8)
        var counter = ByteCounter()
        var fed = 0
        let started = processorTime
        var parser = try MultipartParser(boundary: boundary)
        try parser.feed(head.span, to: &counter)
        while fed < total {
            var start = 0
            while start < block.count, fed < total {
                let end = min(block.count, start + chunk)
                try parser.feed(block.span.extracting(start..<end), to: &counter)
                fed += end - start
                start = end
            }
        }
        try parser.feed(Array("\r\n--\(boundary)--\r\n".utf8).span, to: &counter)
        try parser.finish()
        let elapsed = processorTime - started
        guard counter.count == fed else { throw WrongContent(fed: fed, cameOut: counter.count) }
        return Double(fed) / elapsed / 1e6
    }

    /// The CPU time of this process in seconds. Wall time is meaningless on a busy machine.
    private static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private struct ByteCounter: MultipartHandler {
        var count = 0
        mutating func partBegan(_ head: MultipartPartHead) {}
        mutating func partData(_ bytes: Span<UInt8>) { count += bytes.count }
        mutating func partEnded() {}
    }

    private struct WrongContent: Error {
        var fed: Int
        var cameOut: Int
    }

    static func contents(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "rb") else { throw BadWords(words: [path]) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }
}
