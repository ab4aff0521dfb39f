import Crypto
import WaybillCore
import WaybillMultipart

/// A checksum that is computed incrementally.
enum RunningChecksum: Sendable {
    case crc64(CRC64)
    case crc32(CRC32)
    case md5(Insecure.MD5)
    case sha256(SHA256)

    /// The checksum in the responses of OSS.
    static let crc64 = RunningChecksum.crc64(CRC64())
    /// The checksum in the forms of Qiniu.
    static let crc32 = RunningChecksum.crc32(CRC32())
    /// The `ETag` of S3 for an object that was sent in a single request.
    static let md5 = RunningChecksum.md5(Insecure.MD5())
    /// The SHA-256 in the header fields of S3.
    static let sha256 = RunningChecksum.sha256(SHA256())

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .crc64(var checksum):
            unsafe checksum.update(bytes)
            self = .crc64(checksum)
        case .crc32(var checksum):
            unsafe checksum.update(bytes)
            self = .crc32(checksum)
        case .md5(var hash):
            unsafe hash.update(bufferPointer: bytes)
            self = .md5(hash)
        case .sha256(var hash):
            unsafe hash.update(bufferPointer: bytes)
            self = .sha256(hash)
        }
    }

    /// A CRC as the number that stores write in decimal; 0 for other checksums.
    var value: UInt64 {
        switch self {
        case .crc64(let checksum): checksum.value
        case .crc32(let checksum): UInt64(checksum.value)
        case .md5, .sha256: 0
        }
    }

    /// A CRC in decimal digits, an MD5 in lower-case hexadecimal digits, a SHA-256 in Base64.
    var text: String {
        switch self {
        case .crc64, .crc32: String(value)
        case .md5(let hash): MessageAuthentication.hexadecimal(Array(hash.finalize()))
        case .sha256(let hash): MessageAuthentication.base64(Array(hash.finalize()))
        }
    }
}

/// A body whose checksum is computed from the bytes as they are read for sending: once per attempt, and without reading
/// anything twice.
struct ChecksummedBody: UploadBody {
    private let body: any UploadBody
    private let kind: RunningChecksum
    private let range: Range<Int64>?
    private let attemptState = AttemptState()

    /// Creates a body with a checksum of all its bytes, or of a range, such as that of a file within a form.
    init(_ body: any UploadBody, _ kind: RunningChecksum = .crc64, of range: Range<Int64>? = nil) {
        self.body = body
        self.kind = kind
        self.range = range
    }

    /// The number of bytes that the checksum covers.
    var rangeLength: Int64? { range.map { $0.upperBound - $0.lowerBound } ?? length }
    var length: Int64? { body.length }
    var isReplayable: Bool { body.isReplayable }
    var contentType: String? { body.contentType }
    var parts: [BodyPart] { body.parts }

    /// The checksum, and the number of bytes that the last attempt read; `nil` until an attempt has read the whole
    /// body.
    var whole: (checksum: UInt64, count: Int64)? { wholeState.map { ($0.checksum?.value ?? 0, $0.count) } }

    /// The checksum as text; `nil` until an attempt has read the whole body.
    var checksumText: String? { wholeState?.checksum?.text }

    private var wholeState: AttemptState.State? {
        attemptState.state.withLock { $0.isComplete || $0.count == length ? $0 : nil }
    }

    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader {
        let reader = try body.makeReader(wake: wake)
        return Reader(reader, kind, of: range, attemptState, attempt: attemptState.begin(kind))
    }

    /// The state of the most recent attempt.
    private final class AttemptState: Sendable {
        struct State: Sendable {
            var attempt = 0
            var checksum: RunningChecksum?
            var count: Int64 = 0
            var isComplete = false
        }

        let state = Locked(State())

        func begin(_ kind: RunningChecksum) -> Int {
            state.withLock { state in
                state = State(attempt: state.attempt + 1, checksum: kind)
                return state.attempt
            }
        }

        func update(_ checksum: RunningChecksum, _ count: Int64, isComplete: Bool, attempt: Int) {
            state.withLock { state in
                guard state.attempt == attempt else { return }
                state = State(attempt: attempt, checksum: checksum, count: count, isComplete: isComplete)
            }
        }
    }

    private final class Reader: BodyReader {
        private let reader: any BodyReader
        private let range: Range<Int64>?
        private let attemptState: AttemptState
        private let attempt: Int
        private var checksum: RunningChecksum
        private var count: Int64 = 0

        init(
            _ reader: any BodyReader, _ kind: RunningChecksum, of range: Range<Int64>?, _ attemptState: AttemptState,
            attempt: Int
        ) {
            self.reader = reader
            self.range = range
            self.attemptState = attemptState
            self.attempt = attempt
            checksum = kind
        }

        func read(into output: inout OutputRawSpan) throws -> BodyRead {
            let before = output.byteCount
            let result = try reader.read(into: &output)
            if case .bytes(let read) = result {
                var checksum = checksum
                let wanted = counted(Int64(read))
                unsafe output.withUnsafeMutableBytes { buffer, _ in
                    let bytes = (before + wanted.lowerBound)..<(before + wanted.upperBound)
                    unsafe checksum.update(UnsafeRawBufferPointer(rebasing: buffer[bytes]))
                }
                self.checksum = checksum
                count += Int64(read)
            }
            if result != .later { attemptState.update(checksum, count, isComplete: result == .end, attempt: attempt) }
            return result
        }

        func close() { reader.close() }

        /// Returns the range of the next bytes that the checksum covers.
        private func counted(_ read: Int64) -> Range<Int> {
            guard let range else { return 0..<Int(read) }
            let start = min(max(range.lowerBound - count, 0), read)
            return Int(start)..<Int(min(max(range.upperBound - count, start), read))
        }
    }
}

extension UploadBody {
    /// Reads the body without sending it, for a checksum that is needed in advance or of bytes that were sent earlier.
    func read(_ consume: ([UInt8]) -> Void) async throws(BodyError) {
        for try await chunk in AsyncValues(of: self) { consume(chunk) }
    }

    /// Returns the checksum of all bytes without sending them.
    func checksum(_ kind: RunningChecksum) async throws(BodyError) -> RunningChecksum {
        var checksum = kind
        for try await chunk in AsyncValues(of: self) {
            unsafe chunk.withUnsafeBytes { bytes in unsafe checksum.update(bytes) }
        }
        return checksum
    }
}
