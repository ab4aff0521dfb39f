import Crypto
import FoundationEssentials
import WaybillCore
import WaybillMultipart

/// A checksum that is computed incrementally.
enum RunningChecksum: Sendable {
    case crc(CRC)
    case md5(Insecure.MD5)
    case sha256(SHA256)

    /// The checksum in the responses of OSS.
    static let crc64 = RunningChecksum.crc(CRC(.ecma))
    /// The checksum in the forms of Qiniu.
    static let crc32 = RunningChecksum.crc(CRC(.zlib))
    /// The `ETag` of S3 for an object that was sent in a single request.
    static let md5 = RunningChecksum.md5(Insecure.MD5())
    /// A checksum of S3.
    static let sha256 = RunningChecksum.sha256(SHA256())

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .crc(var checksum):
            unsafe checksum.update(bytes)
            self = .crc(checksum)
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
        guard case .crc(let checksum) = self else { return 0 }
        return checksum.value
    }

    /// The bytes of the checksum, the most significant first.
    var digest: [UInt8] {
        switch self {
        case .crc(let checksum): checksum.value.bytes.suffix(checksum.polynomial.byteCount)
        case .md5(let hash): Array(hash.finalize())
        case .sha256(let hash): Array(hash.finalize())
        }
    }

    /// The checksum as stores write it: OSS's CRC in decimal digits, an MD5 in hexadecimal digits, others in Base64.
    var text: String {
        switch self {
        case .crc(let checksum) where checksum.polynomial == .ecma: String(checksum.value)
        case .md5: MessageAuthentication.hexadecimal(digest)
        case .crc, .sha256: MessageAuthentication.base64(digest)
        }
    }

    /// Returns the checksum of an object from those of its ordered parts, without reading them; `nil` if one is
    /// missing.
    ///
    /// A CRC is that of the whole object. Hashes can't be combined: the result is the hash of the parts' hashes with
    /// their number, as in the `ETag` of S3. The receiver must be the checksum of no bytes.
    func whole(of parts: [PartReceipt]) -> String? {
        var whole = self
        for part in parts {
            guard let digest = part.checksum.flatMap({ digest(from: $0) }) else { return nil }
            switch whole {
            case .crc(let sum):
                whole = .crc(sum.appending(digest.reduce(0) { $0 << 8 | UInt64($1) }, count: part.size))
            case .md5, .sha256: unsafe digest.withUnsafeBytes { unsafe whole.update($0) }
            }
        }
        if case .crc = self { return whole.text }
        return "\(whole.text)-\(parts.count)"
    }

    /// Returns the bytes of a checksum of the same kind from its text; `nil` if it is malformed.
    private func digest(from text: String) -> [UInt8]? {
        var bytes: [UInt8]?
        switch self {
        case .crc(let checksum) where checksum.polynomial == .ecma: bytes = UInt64(text)?.bytes
        case .md5:
            let digits = Array(text.utf8)
            bytes = stride(from: 0, to: digits.count & ~1, by: 2).compactMap { index in
                UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)
            }
        case .crc, .sha256: bytes = Data(base64Encoded: text).map { Array($0) }
        }
        return bytes?.count == digest.count ? bytes : nil
    }
}

extension UInt64 {
    /// The bytes of the number, the most significant first.
    fileprivate var bytes: [UInt8] { unsafe withUnsafeBytes(of: bigEndian) { unsafe Array($0) } }
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
