/// A reader that discards the bytes before a range and ends after the range, for bodies that can be read only from their
/// beginning.
package final class RangeReader: BodyReader {
    private let reader: any BodyReader
    private let wake: @Sendable () -> Void
    private var skip: Int64
    /// The number of bytes until the end of the range; `nil` to read to the end of the body, which the reader checks.
    private var remaining: Int64?
    private lazy var discarded = [UInt8](repeating: 0, count: Self.discardSize)

    /// Bounds the time of one read.
    private static let discardSize = 65_536
    private static let maximumDiscards = 16

    /// Creates a reader of a range.
    ///
    /// - Parameters:
    ///   - reader: A reader at the first byte of the body.
    ///   - range: The range.
    ///   - bodyLength: The length of the body, if it is known.
    ///   - wake: The closure that continues a reader that returned ``BodyRead/later``.
    package init(
        _ reader: any BodyReader, range: Range<Int64>, bodyLength: Int64?, wake: @escaping @Sendable () -> Void
    ) {
        self.reader = reader
        self.wake = wake
        skip = range.lowerBound
        // A reader checks at its end whether the body was complete, so the last range is read to that end.
        let isLast = bodyLength.map { range.upperBound >= $0 } ?? false
        remaining = isLast ? nil : range.upperBound - range.lowerBound
    }

    package func read(into output: inout OutputRawSpan) throws -> BodyRead {
        if let end = try discard() { return end }
        guard var remaining else { return try reader.read(into: &output) }
        guard remaining > 0 else { return .end }
        let result = try readLimited(Int(min(Int64(output.freeCapacity), remaining)), into: &output)
        if case .bytes(let count) = result {
            remaining -= Int64(count)
            self.remaining = remaining
        }
        return result
    }

    /// Discards the bytes before the range.
    ///
    /// - Returns: The result of the read if the range was not reached, or `nil`.
    private func discard() throws -> BodyRead? {
        for _ in 0..<Self.maximumDiscards where skip > 0 {
            let count = Int(min(skip, Int64(Self.discardSize)))
            let reader = reader
            let result = try unsafe discarded.withUnsafeMutableBytes { buffer in
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                var span = unsafe OutputRawSpan(buffer: target, initializedCount: 0)
                let result = try reader.read(into: &span)
                _ = unsafe span.finalize(for: target)
                return result
            }
            guard case .bytes(let read) = result else { return result }
            skip -= Int64(read)
        }
        guard skip > 0 else { return nil }
        wake()
        return .later
    }

    private func readLimited(_ count: Int, into output: inout OutputRawSpan) throws -> BodyRead {
        let reader = reader
        return try unsafe output.withUnsafeMutableBytes { buffer, used in
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[used..<used + count])
            var span = unsafe OutputRawSpan(buffer: target, initializedCount: 0)
            let result = try reader.read(into: &span)
            used += unsafe span.finalize(for: target)
            return result
        }
    }

    package func close() { reader.close() }
}

extension RangeReader: CustomReflectable {
    /// Empty: the bytes must not be printed.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A range of a body as the whole body of a request.
package struct RangeBody: UploadBody {
    private let body: any UploadBody
    private let range: Range<Int64>

    package init(_ body: any UploadBody, range: Range<Int64>) {
        self.body = body
        self.range = range
    }

    package var length: Int64? { range.upperBound - range.lowerBound }
    package var isReplayable: Bool { body.isReplayable }
    package var contentType: String? { nil }

    package func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader {
        try body.makeReader(for: range, wake: wake)
    }

    package func makeReader(
        for part: Range<Int64>, wake: @escaping @Sendable () -> Void
    ) throws -> any BodyReader {
        let start = range.lowerBound
        return try body.makeReader(for: start + part.lowerBound..<start + part.upperBound, wake: wake)
    }
}
