import CWaybillChecksum

/// A CRC-32: that of zlib, which Qiniu verifies for a form, or that of Castagnoli, which stores of S3 verify.
package struct CRC32: Sendable, Hashable {
    /// The polynomial, reflected.
    package enum Polynomial: UInt64, Sendable {
        case zlib = 0xEDB8_8320
        case castagnoli = 0x82F6_3B78
    }

    /// The checksum of all bytes so far; 0 for none.
    package private(set) var value: UInt32
    private let polynomial: Polynomial

    /// Creates the checksum of no bytes, or continues from a previous checksum.
    package init(_ polynomial: Polynomial = .zlib, continuing value: UInt32 = 0) {
        self.polynomial = polynomial
        self.value = value
    }

    /// Creates the checksum of a sequence of bytes.
    package init(_ polynomial: Polynomial = .zlib, of bytes: some Sequence<UInt8>) {
        self.init(polynomial)
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
        switch polynomial {
        case .zlib: value = unsafe wb_crc32(value, start, bytes.count)
        case .castagnoli: value = unsafe wb_crc32c(value, start, bytes.count)
        }
    }

    /// Returns the checksum of these bytes followed by others. See ``CRC64/appending(_:count:)``.
    package func appending(_ other: UInt32, count: Int64) -> CRC32 {
        guard count != 0 else { return self }
        precondition(count >= 0, "The count must not be negative.")
        let shifted = wb_crc_append_zeros(polynomial.rawValue, UInt64(value), UInt64(count))
        return CRC32(polynomial, continuing: UInt32(shifted) ^ other)
    }
}

/// A CRC-64: that of XZ with the polynomial of ECMA-182, which OSS reports, or that of NVM Express, which stores of S3
/// verify.
///
/// ```swift
/// var checksum = CRC64()
/// checksum.update(chunk)
/// print(checksum.value)             // as in x-oss-hash-crc64ecma, a decimal number without sign
/// ```
package struct CRC64: Sendable, Hashable {
    /// The polynomial, reflected.
    package enum Polynomial: UInt64, Sendable {
        case ecma = 0xC96C_5795_D787_0F42
        case nvme = 0x9A6C_9329_AC4B_C9B5
    }

    /// The checksum of all bytes so far; 0 for none.
    package private(set) var value: UInt64
    package let polynomial: Polynomial

    /// Creates the checksum of no bytes, or continues from a previous checksum.
    package init(_ polynomial: Polynomial = .ecma, continuing value: UInt64 = 0) {
        self.polynomial = polynomial
        self.value = value
    }

    /// Creates the checksum of a sequence of bytes.
    package init(_ polynomial: Polynomial = .ecma, of bytes: some Sequence<UInt8>) {
        self.init(polynomial)
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
        switch polynomial {
        case .ecma: value = unsafe wb_crc64(value, start, bytes.count)
        case .nvme: value = unsafe wb_crc64_nvme(value, start, bytes.count)
        }
    }

    /// Returns the checksum of these bytes followed by others, given only the checksum and number of the others. The
    /// checksum of an object can therefore be combined from those of its parts, without reading them again.
    ///
    /// Appending zero bytes is a linear map of the 64 bits, which is applied by repeated squaring: O(log `count`).
    package func appending(_ other: UInt64, count: Int64) -> CRC64 {
        guard count != 0 else { return self }
        precondition(count >= 0, "The count must not be negative.")
        let shifted = wb_crc_append_zeros(polynomial.rawValue, value, UInt64(count))
        return CRC64(polynomial, continuing: shifted ^ other)
    }
}
