import CWaybillChecksum

/// A cyclic redundancy check of 32 or 64 bits.
///
/// ```swift
/// var checksum = CRC(.ecma)
/// checksum.update(chunk)
/// print(checksum.value)             // as in x-oss-hash-crc64ecma, a decimal number without sign
/// ```
package struct CRC: Sendable, Hashable {
    /// The polynomials, reflected. Those of 32 bits have no higher bits.
    package enum Polynomial: UInt64, Sendable {
        /// That of zlib, which Qiniu verifies for a form and stores of S3 can verify.
        case zlib = 0xEDB8_8320
        /// That of Castagnoli, which stores of S3 can verify.
        case castagnoli = 0x82F6_3B78
        /// That of ECMA-182, whose checksum is that of XZ and is reported by OSS.
        case ecma = 0xC96C_5795_D787_0F42
        /// That of NVM Express, which stores of S3 can verify.
        case nvme = 0x9A6C_9329_AC4B_C9B5

        /// The number of bytes of a checksum.
        var byteCount: Int { rawValue >> 32 == 0 ? 4 : 8 }
    }

    /// The checksum of all bytes so far; 0 for none.
    package private(set) var value: UInt64
    let polynomial: Polynomial

    /// Creates the checksum of no bytes, or continues from a previous checksum.
    package init(_ polynomial: Polynomial, continuing value: UInt64 = 0) {
        self.polynomial = polynomial
        self.value = value
    }

    /// Creates the checksum of a sequence of bytes.
    package init(_ polynomial: Polynomial, of bytes: some Sequence<UInt8>) {
        self.init(polynomial)
        update(bytes)
    }

    /// Adds bytes.
    package mutating func update(_ bytes: some Sequence<UInt8>) { unsafe bytes.withBytes { unsafe update($0) } }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        value =
            switch polynomial {
            case .zlib: unsafe UInt64(wb_crc32(UInt32(value), start, bytes.count))
            case .castagnoli: unsafe UInt64(wb_crc32c(UInt32(value), start, bytes.count))
            case .ecma: unsafe wb_crc64(value, start, bytes.count)
            case .nvme: unsafe wb_crc64_nvme(value, start, bytes.count)
            }
    }

    /// Returns the checksum of these bytes followed by others, given only the checksum and number of the others. The
    /// checksum of an object can therefore be combined from those of its parts, without reading them again.
    ///
    /// Appending zero bytes is a linear map of the bits, which is applied by repeated squaring: O(log `count`).
    package func appending(_ other: UInt64, count: Int64) -> CRC {
        guard count != 0 else { return self }
        precondition(count >= 0, "The count must not be negative.")
        return CRC(polynomial, continuing: wb_crc_append_zeros(polynomial.rawValue, value, UInt64(count)) ^ other)
    }
}

extension Sequence<UInt8> {
    /// Calls a function with the bytes in contiguous memory. They are copied only if they are not.
    func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        let done: Void? = withContiguousStorageIfAvailable { unsafe body(UnsafeRawBufferPointer($0)) }
        if done == nil { unsafe Array(self).withUnsafeBytes { unsafe body($0) } }
    }
}
