/// A stretch of a file that was promised as part of a body; mostly all of it.
struct FileSlice: Sendable {
    let source: SourceFile
    /// The bytes that are sent, counted from the beginning of the file.
    let range: Range<Int64>

    var count: Int64 { range.upperBound - range.lowerBound }

    /// All of a file.
    init(_ source: SourceFile) {
        self.source = source
        range = 0..<source.stamp.size
    }

    /// Some of a file; all of it without a range.
    ///
    /// - Throws: ``BodyError/Code/invalidRange`` if the file ends before the range does.
    init(_ source: SourceFile, range: Range<Int64>?) throws(BodyError) {
        guard let range else {
            self.init(source)
            return
        }
        guard range.lowerBound >= 0, range.upperBound <= source.stamp.size else {
            throw BodyError(
                .invalidRange,
                "the bytes \(range.lowerBound)..<\(range.upperBound) are not all in \(source.path), which has "
                    + "\(source.stamp.size).", at: source.place, path: source.path)
        }
        self.source = source
        self.range = range
    }
}
