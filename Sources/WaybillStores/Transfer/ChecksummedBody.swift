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
    private let tally = Tally()

    init(_ body: any UploadBody, _ kind: RunningChecksum = .crc64) {
        self.body = body
        self.kind = kind
    }

    var length: Int64? { body.length }
    var isReplayable: Bool { body.isReplayable }
    var contentType: String? { body.contentType }
    var parts: [BodyPart] { body.parts }

    /// Checksum and number of the bytes that the last attempt read; `nil` while no attempt has read them all.
    var whole: (checksum: UInt64, count: Int64)? {
        tally.state.withLock { state in
            guard state.isWhole || state.count == length else { return nil }
            return (state.checksum?.value ?? 0, state.count)
        }
    }

    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader {
        let reader = try body.makeReader(wake: wake)
        return Reader(reader, kind, tally, attempt: tally.begin(kind))
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
        private let tally: Tally
        private let attempt: Int
        private var checksum: RunningChecksum
        private var count: Int64 = 0

        init(_ reader: any BodyReader, _ kind: RunningChecksum, _ tally: Tally, attempt: Int) {
            self.reader = reader
            self.tally = tally
            self.attempt = attempt
            checksum = kind
        }

        func read(into output: inout OutputRawSpan) throws -> BodyRead {
            let before = output.byteCount
            let answer = try reader.read(into: &output)
            if case .bytes(let read) = answer {
                var checksum = checksum
                unsafe output.withUnsafeMutableBytes { buffer, used in
                    unsafe checksum.update(UnsafeRawBufferPointer(rebasing: buffer[before..<used]))
                }
                self.checksum = checksum
                count += Int64(read)
            }
            if answer != .later { tally.note(checksum, count, isWhole: answer == .end, attempt: attempt) }
            return answer
        }

        func close() { reader.close() }
    }
}

extension UploadBody {
    /// Reads the body off without sending it: for a checksum that has to be known before, or of what was sent earlier.
    func read(_ take: ([UInt8]) -> Void) async throws(BodyError) {
        for try await chunk in BodyChunks(of: self) { take(chunk) }
    }

    /// The checksum of all bytes, read off the disk and sent nowhere.
    func checksum(_ kind: RunningChecksum = .crc64) async throws(BodyError) -> UInt64 {
        var checksum = kind
        for try await chunk in BodyChunks(of: self) {
            unsafe chunk.withUnsafeBytes { bytes in unsafe checksum.update(bytes) }
        }
        return checksum.value
    }
}
