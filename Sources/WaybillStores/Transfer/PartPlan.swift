import WaybillCore

/// The limits of a store for the parts of an object.
struct PartLimits: Sendable, Hashable {
    /// The minimum part size, except for the last part.
    var minimumSize: ByteCount
    /// The maximum part size.
    var maximumSize: ByteCount
    /// The maximum number of parts.
    var maximumCount: Int
}

/// The division of an object into parts, numbered from 1. All parts except the last have the same size.
struct PartPlan: Sendable, Hashable {
    /// The size of the object in bytes.
    let objectSize: Int64
    /// The size of every part except the last.
    let partSize: Int64

    /// Divides an object into parts of the requested size, or of a larger size if there would be too many.
    ///
    /// The larger size is the object size divided by `maximumCount`, rounded up to a multiple of 64 KiB.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument`` for a size that the store does not allow,
    ///   ``StoreError/Code/objectTooLarge`` if even parts of the maximum size would be too many.
    init(objectSize: Int64, preferredPartSize: ByteCount, limits: PartLimits) throws(StoreError) {
        guard preferredPartSize >= limits.minimumSize, preferredPartSize <= limits.maximumSize else {
            throw StoreError(
                .invalidArgument,
                "The part size must be between \(limits.minimumSize.bytes) and \(limits.maximumSize.bytes) bytes; got "
                    + "\(preferredPartSize.bytes).")
        }
        let share = objectSize / Int64(limits.maximumCount) + (objectSize % Int64(limits.maximumCount) == 0 ? 0 : 1)
        let size = share <= preferredPartSize.bytes ? preferredPartSize.bytes : Self.rounded(share)
        guard size <= limits.maximumSize.bytes else {
            throw StoreError(
                .objectTooLarge,
                "The object has \(objectSize) bytes, more than \(limits.maximumCount) parts of "
                    + "\(limits.maximumSize.bytes) bytes.")
        }
        self.init(objectSize: objectSize, partSize: size)
    }

    /// Creates a plan with a part size that is known to be allowed.
    init(objectSize: Int64, partSize: Int64) {
        precondition(objectSize >= 0 && partSize > 0, "The object or part size is invalid.")
        self.objectSize = objectSize
        self.partSize = partSize
    }

    /// The number of parts; an empty object has one empty part.
    var count: Int { objectSize == 0 ? 1 : Int((objectSize - 1) / partSize) + 1 }

    /// The numbers of all parts.
    var numbers: ClosedRange<Int> { 1...count }

    /// Returns the byte range of a part in the object.
    func range(of number: Int) -> Range<Int64> {
        precondition(numbers.contains(number), "The part number is out of range.")
        let start = Int64(number - 1) * partSize
        return start..<min(objectSize, start + min(partSize, objectSize - start))
    }

    /// Returns the size of a part in bytes.
    func size(of number: Int) -> Int64 {
        let range = range(of: number)
        return range.upperBound - range.lowerBound
    }

    /// Rounds up to a multiple of 64 KiB.
    private static func rounded(_ size: Int64) -> Int64 {
        let step: Int64 = 65_536
        return size > .max - step ? .max : (size + step - 1) / step * step
    }
}

/// A part at the store.
struct PartReceipt: Sendable, Hashable, Codable {
    /// The part number, from 1.
    var number: Int
    /// The size in bytes.
    var size: Int64
    /// The `ETag` of the part, as received from the store.
    var tag: String
    /// The checksum of the part in the store's format; `nil` if unknown.
    var checksum: String?
}
