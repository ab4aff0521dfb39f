import CWaybillFiles

/// Byte searches with the functions of the C library.
enum ByteSearch {
    /// Returns the offset of the first occurrence of `needle` in `haystack` at or after `start`.
    ///
    /// - Complexity: Linear: glibc's `memmem` falls back to the two-way algorithm.
    static func find(_ needle: [UInt8], in haystack: Span<UInt8>, from start: Int = 0) -> Int? {
        let count = haystack.count - start
        let found = unsafe haystack.withUnsafeBufferPointer { hay in
            unsafe needle.withUnsafeBufferPointer { needle in
                guard count >= needle.count, let first = hay.baseAddress, let wanted = needle.baseAddress else {
                    return -1
                }
                return unsafe wb_find(first + start, count, wanted, needle.count)
            }
        }
        return found < 0 ? nil : start + found
    }

    /// Returns the offset of the first occurrence of `needle` in an array.
    static func find(_ needle: [UInt8], in haystack: [UInt8]) -> Int? {
        find(needle, in: haystack.span)
    }

    /// Returns the offset of the first occurrence of a byte at or after `start`.
    static func find(byte: UInt8, in bytes: Span<UInt8>, from start: Int) -> Int? {
        let count = bytes.count - start
        let found = unsafe bytes.withUnsafeBufferPointer { buffer in
            guard count > 0, let first = buffer.baseAddress else { return -1 }
            return unsafe wb_find_byte(first + start, count, byte)
        }
        return found < 0 ? nil : start + found
    }

    /// Returns the offset of the last occurrence of a byte at or after `start`.
    static func findLast(byte: UInt8, in bytes: Span<UInt8>, from start: Int) -> Int? {
        let count = bytes.count - start
        let found = unsafe bytes.withUnsafeBufferPointer { buffer in
            guard count > 0, let first = buffer.baseAddress else { return -1 }
            return unsafe wb_find_last_byte(first + start, count, byte)
        }
        return found < 0 ? nil : start + found
    }

    /// Returns the offset of the first form delimiter that the bytes after it do not rule out; see `wb_find_delimiter`.
    static func find(
        delimiter: [UInt8], in bytes: Span<UInt8>, from start: Int, padding: Int, isPlain: Bool = false
    ) -> Int? {
        let count = bytes.count - start
        let found = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe delimiter.withUnsafeBufferPointer { wanted in
                guard count > 0, let first = buffer.baseAddress, let delimiter = wanted.baseAddress else { return -1 }
                return unsafe isPlain
                    ? wb_find_delimiter_scalar(first + start, count, delimiter, wanted.count, padding)
                    : wb_find_delimiter(first + start, count, delimiter, wanted.count, padding)
            }
        }
        return found < 0 ? nil : start + found
    }
}
