import WaybillCore

/// What a store allows of the parts of an object.
struct PartLimits: Sendable, Hashable {
    /// The smallest part, apart from the last.
    var smallest: ByteCount
    /// The largest part.
    var largest: ByteCount
    /// The most parts.
    var most: Int
}

/// An object taken into parts, numbered from 1. All are of one size but the last.
struct PartPlan: Sendable, Hashable {
    /// The object's size in bytes.
    let objectSize: Int64
    /// The size of every part but the last.
    let partSize: Int64

    /// Parts of the size that was wished for, or larger where there would be too many of them.
    ///
    /// The size grows to the `most`-th part of the object, rounded up to 64 KiB.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument`` for a wish that the store does not allow,
    ///   ``StoreError/Code/objectTooLarge`` when even the largest parts are too many.
    init(objectSize: Int64, wished: ByteCount, limits: PartLimits) throws(StoreError) {
        guard wished >= limits.smallest, wished <= limits.largest else {
            throw StoreError(
                .invalidArgument,
                "parts of \(wished.bytes) bytes are not allowed: choose from \(limits.smallest.bytes) to "
                    + "\(limits.largest.bytes)")
        }
        let share = objectSize / Int64(limits.most) + (objectSize % Int64(limits.most) == 0 ? 0 : 1)
        let size = share <= wished.bytes ? wished.bytes : Self.rounded(share)
        guard size <= limits.largest.bytes else {
            throw StoreError(
                .objectTooLarge,
                "an object of \(objectSize) bytes is more than \(limits.most) parts of \(limits.largest.bytes) bytes")
        }
        self.init(objectSize: objectSize, partSize: size)
    }

    /// Parts of a size that is known to be allowed.
    init(objectSize: Int64, partSize: Int64) {
        precondition(objectSize >= 0 && partSize > 0, "sizes are not negative")
        self.objectSize = objectSize
        self.partSize = partSize
    }

    /// How many parts there are; one, of no bytes, for an empty object.
    var count: Int { objectSize == 0 ? 1 : Int((objectSize - 1) / partSize) + 1 }

    /// The numbers of all parts.
    var numbers: ClosedRange<Int> { 1...count }

    /// Where a part lies in the object.
    func range(of number: Int) -> Range<Int64> {
        precondition(numbers.contains(number), "there is no such part")
        let start = Int64(number - 1) * partSize
        return start..<min(objectSize, start + min(partSize, objectSize - start))
    }

    /// How many bytes a part has.
    func size(of number: Int) -> Int64 {
        let range = range(of: number)
        return range.upperBound - range.lowerBound
    }

    /// Up to a multiple of 64 KiB.
    private static func rounded(_ size: Int64) -> Int64 {
        let step: Int64 = 65_536
        return size > .max - step ? .max : (size + step - 1) / step * step
    }
}

/// A part that the store has.
struct PartReceipt: Sendable, Hashable, Codable {
    /// Its number, from 1.
    var number: Int
    /// How many bytes it has.
    var size: Int64
    /// What the store calls it: the `ETag`, in the store's spelling.
    var tag: String
    /// The checksum of its bytes in the store's spelling; `nil` where nobody said one.
    var checksum: String?
}

extension [PartReceipt] {
    /// The CRC-64 of the whole object, from those of its parts in their order; `nil` when one is missing.
    var wholeChecksum: UInt64? {
        var whole = CRC64()
        for part in self {
            guard let checksum = part.checksum.flatMap({ UInt64($0) }) else { return nil }
            whole = whole.appending(checksum, count: part.size)
        }
        return whole.value
    }
}
