import Waybill

/// Where the bytes of a measured upload come from. Each kind is a row of the memory table: to add one, add a case, its
/// content, and its words in `Transport/memory.py`.
enum MemorySource: String {
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

    /// What is sent: the bytes of the file, or as many zeros.
    func content(path: String, size: Int) -> UploadContent {
        switch self {
        case .formFile: .form(Sending.form(path))
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
