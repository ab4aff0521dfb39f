package import WaybillCore

/// A number of 128 bits that identifies the content of a body across processes: its bytes in memory, and the path, size,
/// times and inode of its files. The boundary of a form does not count.
///
/// It detects a changed body by accident, not by intent: it is not a cryptographic hash.
package struct BodyFingerprint: Sendable, Hashable, CustomStringConvertible {
    private var high: UInt64 = 0x6a09_e667_f3bc_c908
    private var low: UInt64 = 0xbb67_ae85_84ca_a73b

    package init() {}

    package mutating func add(_ word: UInt64) {
        low = Self.mixed(low ^ word)
        high = Self.mixed(high &+ low &+ word)
    }

    package mutating func add(_ text: String) { add(Array(text.utf8)) }

    package mutating func add(_ bytes: [UInt8]) {
        add(UInt64(bytes.count))
        unsafe bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset + 8 <= buffer.count {
                add(UInt64(littleEndian: unsafe buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
                offset += 8
            }
            var rest: UInt64 = 0
            while offset < buffer.count {
                rest = rest << 8 | UInt64(unsafe buffer[offset])
                offset += 1
            }
            add(rest)
        }
    }

    fileprivate mutating func add(_ source: SourceFile) {
        add(source.path)
        let stamp = source.stamp
        for word in [
            Int64(bitPattern: stamp.inode), stamp.size, Int64(stamp.modified.seconds),
            Int64(stamp.modified.nanoseconds), Int64(stamp.changed.seconds), Int64(stamp.changed.nanoseconds),
        ] {
            add(UInt64(bitPattern: word))
        }
    }

    /// 32 hexadecimal digits.
    package var description: String {
        [high, low].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// The finalizer of SplitMix64.
    private static func mixed(_ word: UInt64) -> UInt64 {
        var word = word &+ 0x9e37_79b9_7f4a_7c15
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}

/// A body that has a fingerprint.
package protocol FingerprintedBody: UploadBody {
    /// The fingerprint; `nil` if the body contains a stream.
    var fingerprint: BodyFingerprint? { get }
}

extension MultipartBody: FingerprintedBody {
    package var fingerprint: BodyFingerprint? {
        // All boundaries of one length count the same.
        let neutral = [UInt8](repeating: UInt8(ascii: "-"), count: boundary.description.utf8.count)
        return segments.replacing(Array(boundary.description.utf8), with: neutral).fingerprint
    }

    /// Returns the form with another boundary; `nil` if its length differs, or the boundary is not that of Waybill.
    package func replacingBoundary(with text: String) -> MultipartBody? {
        guard text != boundary.description else { return self }
        guard text.utf8.count == boundary.description.utf8.count, let new = try? MultipartBoundary(text) else {
            return nil
        }
        var body = MultipartBody(
            boundary: new, segments: segments.replacing(Array(boundary.description.utf8), with: Array(text.utf8)),
            layout: layout, knownRangeCount: parts.count)
        body.disk = disk
        return body
    }
}

extension FileBody: FingerprintedBody {
    package var fingerprint: BodyFingerprint? { segments.fingerprint }
}

extension DataBody: FingerprintedBody {
    package var fingerprint: BodyFingerprint? { segments.fingerprint }
}

extension SegmentList {
    /// The fingerprint; `nil` if there is a stream or a temporary file.
    var fingerprint: BodyFingerprint? {
        guard streams.isEmpty else { return nil }
        var fingerprint = BodyFingerprint()
        for segment in segments {
            switch segment {
            case .bytes(let bytes): fingerprint.add(bytes)
            case .file(let slice):
                guard slice.source.openDescriptor == nil else { return nil }
                fingerprint.add(slice.source)
                fingerprint.add(UInt64(bitPattern: slice.range.lowerBound))
                fingerprint.add(UInt64(bitPattern: slice.range.upperBound))
            case .stream, .verification: break
            }
        }
        return fingerprint
    }
}
