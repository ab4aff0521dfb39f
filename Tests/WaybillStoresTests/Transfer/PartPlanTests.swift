import TestSupport
import Testing
import WaybillCore

@testable import WaybillStores

@Suite struct `Part plans` {
    private static let limits = PartLimits(
        minimumSize: .bytes(102_400), maximumSize: .gibibytes(5), maximumCount: 10_000)

    @Test(
        arguments: [
            // size, requested part size, part size, parts
            (0, 102_400, 102_400, 1), (1, 102_400, 102_400, 1), (102_400, 102_400, 102_400, 1),
            (102_401, 102_400, 102_400, 2), (1_024_000_000, 102_400, 102_400, 10_000),
            // One byte more than 10,000 parts hold: the next multiple of 64 KiB.
            (1_024_000_001, 102_400, 131_072, 7_813),
            (1 << 40, 6 << 20, 109_969_408, 9_999), (209_715_200, 6 << 20, 6 << 20, 34),
            (53_687_091_200_000, 102_400, 5_368_709_120, 10_000),
        ] as [(Int64, Int64, Int64, Int)])
    func `the part size is the requested one, or larger if there would be too many parts`(
        _ size: Int64, _ wish: Int64, _ partSize: Int64, _ count: Int
    ) throws {
        let plan = try PartPlan(objectSize: size, preferredPartSize: .bytes(wish), limits: Self.limits)
        #expect(plan.partSize == partSize)
        #expect(plan.count == count)
    }

    @Test func `parts are contiguous and cover the object`() throws {
        var random = SeededGenerator()
        for _ in 0..<500 {
            let size = Int64.random(in: 0...5_000_000, using: &random)
            let plan = PartPlan(objectSize: size, partSize: .random(in: 1...700_000, using: &random))
            var end: Int64 = 0
            for number in plan.numbers {
                let range = plan.range(of: number)
                #expect(range.lowerBound == end)
                #expect(range.count == Int(plan.partSize) || number == plan.count)
                #expect(!range.isEmpty || size == 0)
                end = range.upperBound
            }
            #expect(end == size, "seed \(random.seed)")
        }
    }

    @Test(arguments: [0, 102_399, (5 << 30) + 1] as [Int64])
    func `a part size beyond the limits is refused`(_ wish: Int64) {
        #expect(throws: StoreError.self) {
            try PartPlan(objectSize: 1, preferredPartSize: .bytes(wish), limits: Self.limits)
        }
    }

    @Test(arguments: [53_687_091_200_001, .max] as [Int64])
    func `an object too large for the largest parts is refused`(_ size: Int64) throws {
        let error = try #require(throws: StoreError.self) {
            try PartPlan(objectSize: size, preferredPartSize: .mebibytes(1), limits: Self.limits)
        }
        #expect(error.code == .objectTooLarge)
    }
}
