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

/// The checksum in OSS's responses: CRC-64/XZ, the reflected ECMA-182 polynomial.
///
/// ```swift
/// var checksum = CRC64()
/// checksum.update(chunk)
/// print(checksum.value)             // as in x-oss-hash-crc64ecma, a decimal number without sign
/// ```
package struct CRC64: Sendable, Hashable {
    /// The checksum of all bytes so far; 0 for none.
    package private(set) var value: UInt64

    /// Creates the checksum of no bytes, or continues from a previous checksum.
    package init(continuing value: UInt64 = 0) {
        self.value = value
    }

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
        value = unsafe wb_crc64(value, start, bytes.count)
    }

    /// Returns the checksum of these bytes followed by others, given only the checksum and number of the others. The
    /// checksum of an object can therefore be combined from those of its parts, without reading them again.
    ///
    /// Appending zero bytes is a linear map of the 64 bits, which is applied by repeated squaring: O(log `count`).
    package func appending(_ other: UInt64, count: Int64) -> CRC64 {
        precondition(count >= 0, "The count must not be negative.")
        guard count > 0 else { return self }
        var zeros = LinearMap.oneZeroByte
        var result = value
        var rest = UInt64(count)
        while rest > 0 {
            if rest & 1 == 1 { result = zeros(result) }
            zeros = zeros.squared
            rest >>= 1
        }
        return CRC64(continuing: result ^ other)
    }
}

/// A linear map of 64 bits, represented by the images of the individual bits.
private struct LinearMap {
    private let images: [UInt64]

    static let oneZeroByte: LinearMap = {
        let oneZeroBit = LinearMap(
            images: (0..<64).map { bit in bit == 0 ? 0xC96C_5795_D787_0F42 : 1 << UInt64(bit - 1) })
        return oneZeroBit.squared.squared.squared
    }()

    private init(images: [UInt64]) {
        self.images = images
    }

    func callAsFunction(_ bits: UInt64) -> UInt64 {
        var result: UInt64 = 0
        var rest = bits
        while rest != 0 {
            result ^= images[rest.trailingZeroBitCount]
            rest &= rest - 1
        }
        return result
    }

    var squared: LinearMap { LinearMap(images: images.map { self($0) }) }
}
