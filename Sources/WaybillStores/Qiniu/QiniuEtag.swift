import Crypto
import FoundationEssentials

/// The hash by which Qiniu knows an object: over blocks of 4 MiB.
///
/// ```swift
/// var etag = QiniuEtag()
/// for chunk in chunks { etag.update(chunk) }
/// print(etag.value)                      // Fto5o-5ea0sNMlW_75VgGJCv2AcJ for no bytes
/// ```
///
/// One block: `0x16` and its SHA-1. More: `0x96` and the SHA-1 of all blocks' SHA-1. Objects made of parts of another size
/// than 4 MiB have another hash, which can't be told from their bytes alone.
///
/// - Complexity: linear; 20 bytes of memory for each block of 4 MiB.
///
/// It is checked by hand that it may be sent: the hashes of swift-crypto are values, and older versions do not say so.
public struct QiniuEtag: @unchecked Sendable {
    /// The size of a block: 4 MiB.
    public static let blockSize: Int64 = 4_194_304

    private var block = Insecure.SHA1()
    private var room = Int(QiniuEtag.blockSize)
    private var hashes: [UInt8] = []
    private var isEmpty = true

    /// Begins with no bytes.
    public init() {}

    /// The hash of some bytes.
    public init(of bytes: some Sequence<UInt8>) {
        self.init()
        update(bytes)
    }

    /// Takes further bytes.
    public mutating func update(_ bytes: some Sequence<UInt8>) {
        let whole: Void? = bytes.withContiguousStorageIfAvailable { buffer in
            unsafe update(UnsafeRawBufferPointer(buffer))
        }
        if whole == nil { update(Array(bytes)) }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = unsafe bytes
        while unsafe !rest.isEmpty {
            let count = min(room, rest.count)
            unsafe block.update(bufferPointer: UnsafeRawBufferPointer(rebasing: rest[..<count]))
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            room -= count
            isEmpty = false
            if room == 0 { closeBlock() }
        }
    }

    /// The hash of all bytes so far.
    public var value: String { Self.value(ofBlockHashes: blockHashes) }

    /// The SHA-1 of each block so far, one behind the other; that of no bytes for no bytes.
    var blockHashes: [UInt8] {
        var copy = self
        if copy.isEmpty || copy.room < Int(Self.blockSize) { copy.closeBlock() }
        return copy.hashes
    }

    /// The hash of an object from those of its blocks.
    static func value(ofBlockHashes hashes: [UInt8]) -> String {
        guard hashes.count > Insecure.SHA1.byteCount else { return URLSafeBase64.encode([0x16] + hashes) }
        return URLSafeBase64.encode([0x96] + Array(Insecure.SHA1.hash(data: hashes)))
    }

    private mutating func closeBlock() {
        hashes += Array(block.finalize())
        block = Insecure.SHA1()
        room = Int(Self.blockSize)
    }
}
