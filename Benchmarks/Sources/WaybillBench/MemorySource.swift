import Waybill

/// Where the bytes of a measured upload come from. Each kind is a row of the memory table: to add one, add a case, its
/// words and its content.
enum MemorySource: String, CaseIterable {
    /// A file as a part of a form.
    case formFile
    /// A file as the whole body.
    case file
    /// A slice of a file as a part of a form: all but its first byte and its last.
    case slice
    /// A stream that says how much it has.
    case stream
    /// A sequence that does not, sent chunked.
    case chunked
    /// The same as a part of a form, read into a temporary file first.
    case spilled

    /// What the row is called.
    var title: String {
        switch self {
        case .formFile: "file in a form"
        case .file: "file"
        case .slice: "slice of a file in a form"
        case .stream: "stream of known length"
        case .chunked: "sequence of unknown length, chunked"
        case .spilled: "sequence of unknown length in a form, spilled"
        }
    }

    /// What is sent: the bytes of the file, or as many zeros.
    func content(path: String, size: Int) -> UploadContent {
        switch self {
        case .formFile: .form(Form.make(path))
        case .file: .file(path: path)
        case .slice: .form([.file("FILE", path: path, range: 1..<Int64(size) - 1)])
        case .stream: .stream(ZeroChunks(count: size), length: Int64(size))
        case .chunked: .stream(ZeroChunks(count: size), length: nil)
        case .spilled: .form([.stream("FILE", ZeroChunks(count: size), length: nil, fileName: "zeros")])
        }
    }
}

/// So many zeros, 64 KiB at a time.
private struct ZeroChunks: AsyncSequence, Sendable {
    let count: Int

    func makeAsyncIterator() -> Iterator { Iterator(left: count) }

    struct Iterator: AsyncIteratorProtocol {
        var left: Int

        mutating func next() async -> [UInt8]? {
            guard left > 0 else { return nil }
            let size = Swift.min(left, 65_536)
            left -= size
            return [UInt8](repeating: 0, count: size)
        }
    }
}

extension Workloads {
    /// The same command with 1 KiB and with 2 GiB, from every kind of source: memory must not follow the size.
    func memory() throws(BenchError) -> String {
        let small = try TemporaryFile(byteCount: 1_024, isWarm: true)
        let large = try TemporaryFile(byteCount: 2 << 30, isWarm: false)
        var table = Table(["Peak memory by size of the body, \(rounds) rounds", "1 KiB", "2 GiB", "growth", "target"])
        for source in MemorySource.allCases {
            var little: [Double] = []
            var much: [Double] = []
            for _ in 0..<rounds {
                little.append(try peakMemory(source, small.path, 1_024))
                much.append(try peakMemory(source, large.path, 2 << 30))
            }
            let growth = much.median - little.median
            table.add([
                source.title, little.median.fixed(1) + " MB", much.median.fixed(1) + " MB", growth.fixed(1) + " MB",
                "<= 4.0" + (growth > 4 ? " missed" : ""),
            ])
        }
        return table.text
    }

    private func peakMemory(_ source: MemorySource, _ path: String, _ size: Int) throws(BenchError) -> Double {
        let run = try Child.run(
            Child.ownPath, [Errand.Kind.source.rawValue, url, path, String(size), source.rawValue])
        guard let count = Int(run.output.filter(\.isNumber)), count >= size, count < size + 10_000 else {
            throw BenchError("\(source.title): \(run.output) bytes came where \(size) were expected.")
        }
        return Double(run.peakMemory) / 1e6
    }
}
