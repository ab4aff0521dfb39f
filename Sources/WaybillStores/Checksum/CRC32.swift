import CWaybillChecksum

/// The checksum that Qiniu verifies for a form: CRC-32 as in zlib.
package struct CRC32: Sendable, Hashable {
    /// The checksum of all bytes so far; 0 for none.
    package private(set) var value: UInt32 = 0

    /// Creates the checksum of no bytes.
    package init() {}

    /// Creates the checksum of a sequence of bytes.
    package init(of bytes: some Sequence<UInt8>) {
        self.init()
        update(bytes)
    }

    /// Adds bytes.
    package mutating func update(_ bytes: some Sequence<UInt8>) {
        let whole: Void? = bytes.withContiguousStorageIfAvailable { buffer in
            unsafe update(UnsafeRawBufferPointer(buffer))
        }
        if whole == nil { update(Array(bytes)) }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        value = unsafe wb_crc32(value, start, bytes.count)
    }
}
