import CWaybillChecksum

/// The polynomial of a CRC, reflected, with the function that computes its checksums.
package protocol CRCPolynomial: RawRepresentable, Hashable, Sendable where RawValue == UInt64 {
    /// The checksum as a number.
    associatedtype Value: FixedWidthInteger & Sendable
    /// The polynomial of a checksum without a named one.
    static var standard: Self { get }

    /// Returns the checksum of `count` bytes after those of another checksum.
    func checksum(_ value: Value, _ start: UnsafeRawPointer, _ count: Int) -> Value
}

/// The polynomials of 32 bits: that of zlib, which Qiniu verifies for a form, and that of Castagnoli, which stores of
/// S3 verify.
package enum CRC32Polynomial: UInt64, CRCPolynomial {
    case zlib = 0xEDB8_8320
    case castagnoli = 0x82F6_3B78

    package static let standard = zlib

    package func checksum(_ value: UInt32, _ start: UnsafeRawPointer, _ count: Int) -> UInt32 {
        switch self {
        case .zlib: unsafe wb_crc32(value, start, count)
        case .castagnoli: unsafe wb_crc32c(value, start, count)
        }
    }
}

/// The polynomials of 64 bits: that of ECMA-182, whose checksum is that of XZ and is reported by OSS, and that of NVM
/// Express, which stores of S3 verify.
package enum CRC64Polynomial: UInt64, CRCPolynomial {
    case ecma = 0xC96C_5795_D787_0F42
    case nvme = 0x9A6C_9329_AC4B_C9B5

    package static let standard = ecma

    package func checksum(_ value: UInt64, _ start: UnsafeRawPointer, _ count: Int) -> UInt64 {
        switch self {
        case .ecma: unsafe wb_crc64(value, start, count)
        case .nvme: unsafe wb_crc64_nvme(value, start, count)
        }
    }
}

package typealias CRC32 = CRC<CRC32Polynomial>
package typealias CRC64 = CRC<CRC64Polynomial>

/// A cyclic redundancy check of 32 or 64 bits.
///
/// ```swift
/// var checksum = CRC64()
/// checksum.update(chunk)
/// print(checksum.value)             // as in x-oss-hash-crc64ecma, a decimal number without sign
/// ```
package struct CRC<Kind: CRCPolynomial>: Sendable, Hashable {
    package typealias Polynomial = Kind

    /// The checksum of all bytes so far; 0 for none.
    package private(set) var value: Kind.Value
    package let polynomial: Kind

    /// Creates the checksum of no bytes, or continues from a previous checksum.
    package init(_ polynomial: Kind = .standard, continuing value: Kind.Value = 0) {
        self.polynomial = polynomial
        self.value = value
    }

    /// Creates the checksum of a sequence of bytes.
    package init(_ polynomial: Kind = .standard, of bytes: some Sequence<UInt8>) {
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
        value = unsafe polynomial.checksum(value, start, bytes.count)
    }

    /// Returns the checksum of these bytes followed by others, given only the checksum and number of the others. The
    /// checksum of an object can therefore be combined from those of its parts, without reading them again.
    ///
    /// Appending zero bytes is a linear map of the bits, which is applied by repeated squaring: O(log `count`).
    package func appending(_ other: Kind.Value, count: Int64) -> CRC {
        guard count != 0 else { return self }
        precondition(count >= 0, "The count must not be negative.")
        let shifted = wb_crc_append_zeros(polynomial.rawValue, UInt64(value), UInt64(count))
        return CRC(polynomial, continuing: Kind.Value(shifted) ^ other)
    }
}
