import Crypto
import FoundationEssentials

/// The hash with which Qiniu identifies an object, computed over blocks of 4 MiB.
///
/// ```swift
/// var etag = QiniuEtag()
/// for chunk in chunks { etag.update(chunk) }
/// print(etag.value)                      // Fto5o-5ea0sNMlW_75VgGJCv2AcJ for no bytes
/// ```
///
/// For a single block: `0x16` and its SHA-1. For several: `0x96` and the SHA-1 of the concatenated SHA-1 hashes.
/// Objects that were uploaded in parts of another size than 4 MiB have a different hash, which can't be derived from
/// their bytes.
///
/// - Complexity: linear; 20 bytes of memory for each block of 4 MiB.
///
/// The conformance is unchecked because older versions of swift-crypto do not declare their hashes, which are value
/// types, as `Sendable`.
public struct QiniuEtag: @unchecked Sendable {
    /// The size of a block: 4 MiB.
    public static let blockSize: Int64 = 4_194_304

    private var block = Insecure.SHA1()
    private var remainingInBlock = Int(QiniuEtag.blockSize)
    private var hashes: [UInt8] = []
    private var isEmpty = true

    /// Creates the hash of no bytes.
    public init() {}

    /// Creates the hash of a sequence of bytes.
    public init(of bytes: some Sequence<UInt8>) {
        self.init()
        update(bytes)
    }

    /// Adds bytes.
    public mutating func update(_ bytes: some Sequence<UInt8>) { unsafe bytes.withBytes { unsafe update($0) } }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = unsafe bytes
        while unsafe !rest.isEmpty {
            let count = min(remainingInBlock, rest.count)
            unsafe block.update(bufferPointer: UnsafeRawBufferPointer(rebasing: rest[..<count]))
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            remainingInBlock -= count
            isEmpty = false
            if remainingInBlock == 0 { closeBlock() }
        }
    }

    /// The hash of all bytes so far.
    public var value: String { Self.value(ofBlockHashes: blockHashes) }

    /// The concatenated SHA-1 hashes of the blocks so far; without any bytes, the SHA-1 of no bytes.
    var blockHashes: [UInt8] {
        var copy = self
        if copy.isEmpty || copy.remainingInBlock < Int(Self.blockSize) { copy.closeBlock() }
        return copy.hashes
    }

    /// Returns the hash of an object from the hashes of its blocks.
    static func value(ofBlockHashes hashes: [UInt8]) -> String {
        guard hashes.count > Insecure.SHA1.byteCount else { return URLSafeBase64.encode([0x16] + hashes) }
        return URLSafeBase64.encode([0x96] + Array(Insecure.SHA1.hash(data: hashes)))
    }

    private mutating func closeBlock() {
        hashes += Array(block.finalize())
        block = Insecure.SHA1()
        remainingInBlock = Int(Self.blockSize)
    }
}
