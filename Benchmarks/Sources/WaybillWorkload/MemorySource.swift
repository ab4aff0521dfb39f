import Waybill

/// The source of a measured upload. Each kind is a row of the memory table: to add one, add a case, its
/// content, and its title in `Transport/memory.py`.
enum MemorySource: String {
    /// A file as a part of a form.
    case formFile
    /// A file as the whole body.
    case file
    /// A slice of a file as a part of a form, without its first and last byte.
    case slice
    /// A stream of known length.
    case stream
    /// A sequence of unknown length, sent chunked.
    case chunked
    /// A sequence of unknown length as a part of a form, spooled to a temporary file.
    case spilled

    /// The content: the bytes of the file, or `size` zeros.
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

/// Zeros in chunks of 64 KiB.
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
