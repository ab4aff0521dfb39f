import WaybillCore
import WaybillMultipart

/// A checksum that grows.
enum RunningChecksum: Sendable, Hashable {
    case crc64(CRC64)
    case crc32(CRC32)

    /// The one that OSS answers with.
    static let crc64 = RunningChecksum.crc64(CRC64())
    /// The one that Qiniu takes.
    static let crc32 = RunningChecksum.crc32(CRC32())

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .crc64(var checksum):
            unsafe checksum.update(bytes)
            self = .crc64(checksum)
        case .crc32(var checksum):
            unsafe checksum.update(bytes)
            self = .crc32(checksum)
        }
    }

    /// The number that stores write in decimal.
    var value: UInt64 {
        switch self {
        case .crc64(let checksum): checksum.value
        case .crc32(let checksum): UInt64(checksum.value)
        }
    }
}

/// A body whose checksum is computed from the very bytes that are sent, as they are read for sending: once per attempt, and
/// nothing is read twice.
struct ChecksummedBody: UploadBody {
    private let body: any UploadBody
    private let kind: RunningChecksum
    private let range: Range<Int64>?
    private let tally = Tally()

    /// A body with a checksum of all its bytes, or of those in a range: those of a file within a form.
    init(_ body: any UploadBody, _ kind: RunningChecksum = .crc64, of range: Range<Int64>? = nil) {
        self.body = body
        self.kind = kind
        self.range = range
    }

    /// How many bytes the checksum is of.
    var rangeLength: Int64? { range.map { $0.upperBound - $0.lowerBound } ?? length }
    var length: Int64? { body.length }
    var isReplayable: Bool { body.isReplayable }
    var contentType: String? { body.contentType }
    var parts: [BodyPart] { body.parts }

    /// The checksum, and the number of all bytes that the last attempt read; `nil` while no attempt has read them all.
    var whole: (checksum: UInt64, count: Int64)? {
        tally.state.withLock { state in
            guard state.isWhole || state.count == length else { return nil }
            return (state.checksum?.value ?? 0, state.count)
        }
    }

    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader {
        let reader = try body.makeReader(wake: wake)
        return Reader(reader, kind, of: range, tally, attempt: tally.begin(kind))
    }

    /// What the attempt that began last has read.
    private final class Tally: Sendable {
        struct State: Sendable {
            var attempt = 0
            var checksum: RunningChecksum?
            var count: Int64 = 0
            var isWhole = false
        }

        let state = Locked(State())

        func begin(_ kind: RunningChecksum) -> Int {
            state.withLock { state in
                state = State(attempt: state.attempt + 1, checksum: kind)
                return state.attempt
            }
        }

        func note(_ checksum: RunningChecksum, _ count: Int64, isWhole: Bool, attempt: Int) {
            state.withLock { state in
                guard state.attempt == attempt else { return }
                state = State(attempt: attempt, checksum: checksum, count: count, isWhole: isWhole)
            }
        }
    }

    private final class Reader: BodyReader {
        private let reader: any BodyReader
        private let range: Range<Int64>?
        private let tally: Tally
        private let attempt: Int
        private var checksum: RunningChecksum
        private var count: Int64 = 0

        init(_ reader: any BodyReader, _ kind: RunningChecksum, of range: Range<Int64>?, _ tally: Tally, attempt: Int) {
            self.reader = reader
            self.range = range
            self.tally = tally
            self.attempt = attempt
            checksum = kind
        }

        func read(into output: inout OutputRawSpan) throws -> BodyRead {
            let before = output.byteCount
            let answer = try reader.read(into: &output)
            if case .bytes(let read) = answer {
                var checksum = checksum
                let wanted = counted(Int64(read))
                unsafe output.withUnsafeMutableBytes { buffer, _ in
                    let bytes = (before + wanted.lowerBound)..<(before + wanted.upperBound)
                    unsafe checksum.update(UnsafeRawBufferPointer(rebasing: buffer[bytes]))
                }
                self.checksum = checksum
                count += Int64(read)
            }
            if answer != .later { tally.note(checksum, count, isWhole: answer == .end, attempt: attempt) }
            return answer
        }

        func close() { reader.close() }

        /// Which of the next so many bytes the checksum is of.
        private func counted(_ read: Int64) -> Range<Int> {
            guard let range else { return 0..<Int(read) }
            let start = min(max(range.lowerBound - count, 0), read)
            return Int(start)..<Int(min(max(range.upperBound - count, start), read))
        }
    }
}

extension UploadBody {
    /// Reads the body off without sending it: for a checksum that has to be known before, or of what was sent earlier.
    func read(_ take: ([UInt8]) -> Void) async throws(BodyError) {
        for try await chunk in AsyncValues(of: self) { take(chunk) }
    }

    /// The checksum of all bytes, read off the disk and sent nowhere.
    func checksum(_ kind: RunningChecksum = .crc64) async throws(BodyError) -> UInt64 {
        var checksum = kind
        for try await chunk in AsyncValues(of: self) {
            unsafe chunk.withUnsafeBytes { bytes in unsafe checksum.update(bytes) }
        }
        return checksum.value
    }
}
