import WaybillCore

/// Bytes of a request on their way to the kernel, and which of them belong to the body.
///
/// The bytes stay in place until all were accepted: libcurl requires that a piece over TLS is offered again unchanged.
@safe final class OutputBuffer {
    private let storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    private var body = 0..<0

    init(capacity: Int) {
        unsafe storage = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    }

    deinit { unsafe storage.deallocate() }

    var capacity: Int { unsafe storage.count }
    var isEmpty: Bool { start == end }
    /// The bytes that the kernel has not accepted.
    var unsent: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: storage[start..<end]) }
    var freeSpace: Int { unsafe storage.count - end }

    func removeAll() { (start, end, body) = (0, 0, 0..<0) }

    /// Appends bytes that do not belong to the body.
    func append(_ bytes: [UInt8]) {
        unsafe UnsafeMutableRawBufferPointer(rebasing: storage[end...]).copyBytes(from: bytes)
        end += bytes.count
    }

    /// Appends bytes of the body that `fill` writes, at most `most`.
    func appendBody(
        atMost most: Int, _ fill: (UnsafeMutableRawBufferPointer) -> BodyFeed.ReadResult
    ) -> BodyFeed.ReadResult {
        let result = unsafe fill(UnsafeMutableRawBufferPointer(rebasing: storage[end..<end + most]))
        if case .bytes(let count) = result { extendBody(by: count) }
        return result
    }

    /// Appends a chunk (RFC 9112 section 7.1) with the bytes that `fill` writes, at most `most`.
    func appendChunk(
        atMost most: Int, _ fill: (UnsafeMutableRawBufferPointer) -> BodyFeed.ReadResult
    ) -> BodyFeed.ReadResult {
        let first = end + Self.chunkPrefix
        let room = min(most, unsafe storage.count - first - Self.chunkSuffix.count)
        let result = unsafe fill(UnsafeMutableRawBufferPointer(rebasing: storage[first..<first + room]))
        guard case .bytes(let count) = result, count > 0 else { return result }
        // Leading zeros are allowed in a chunk size, so all prefixes have the same length.
        let digits = String(count, radix: 16)
        append(Array((String(repeating: "0", count: Self.chunkPrefix - 2 - digits.utf8.count) + digits + "\r\n").utf8))
        extendBody(by: count)
        append(Self.chunkSuffix)
        return result
    }

    /// The space that a chunk needs beside its bytes.
    static let chunkOverhead = chunkPrefix + chunkSuffix.count
    private static let chunkPrefix = 10
    private static let chunkSuffix: [UInt8] = [0x0D, 0x0A]

    private func extendBody(by count: Int) {
        body = body.isEmpty ? end..<end + count : body.lowerBound..<end + count
        end += count
    }

    /// Removes bytes that the kernel has accepted.
    ///
    /// - Returns: The number of them that belong to the body.
    func removeFirst(_ count: Int) -> Int {
        let removed = start..<start + count
        start += count
        defer { if start == end { removeAll() } }
        return removed.clamped(to: body).count
    }
}

/// Unused output buffers, so that a small upload allocates none. Allocations of this size return to the kernel.
struct OutputBufferPool {
    private var buffers: [OutputBuffer] = []
    private static let pooledCapacity = 128 << 10
    private static let maximum = 8

    mutating func take(capacity: Int) -> OutputBuffer {
        guard capacity <= Self.pooledCapacity else { return OutputBuffer(capacity: capacity) }
        return buffers.popLast() ?? OutputBuffer(capacity: Self.pooledCapacity)
    }

    mutating func put(_ buffer: OutputBuffer) {
        guard buffer.capacity == Self.pooledCapacity, buffers.count < Self.maximum else { return }
        buffer.removeAll()
        buffers.append(buffer)
    }
}
