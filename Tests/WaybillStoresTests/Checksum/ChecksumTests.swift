import Testing
import TestSupport
import WaybillStores

@Suite struct `Checksums of object stores` {
    private static let broadcast = "This is a test of the emergency broadcast system."
    private static let faraday =
        "Even if I could be Shakespeare, I think I should still choose to be Faraday. - A. Huxley"

    @Test(
        arguments: [
            ("", 0), ("a", 0x3302_8477_2e65_2b05), ("123456789", 11_051_210_869_376_104_954),
            (broadcast, 0x27db_187f_c15b_bc72), (faraday, 0x7ad2_5faf_a171_0407),
            ("hello oss", 15_021_467_531_229_347_219),
            ("This is a case of test for compute crc.", 7_500_711_509_069_051_972),
        ] as [(String, UInt64)])
    func `CRC-64 matches published values`(_ text: String, _ expected: UInt64) {
        #expect(CRC(.ecma, of: text.utf8).value == expected)
    }

    @Test(
        arguments: [
            ("", 0), ("123456789", 3_421_780_262), ("Hello, World!", 3_964_322_768), ("hello oss", 2_673_654_129),
        ] as [(String, UInt64)])
    func `CRC-32 matches published values`(_ text: String, _ expected: UInt64) {
        #expect(CRC(.zlib, of: text.utf8).value == expected)
    }

    // Computed with awscrt 0.38.1, the library of Amazon's own clients.
    @Test(
        arguments: [
            ("", 0, 0), ("a", 0xc1d0_4330, 0x8c2f_8445_b4cb_fc3c), ("123456789", 0xe306_9283, 0xae8b_1486_0a79_9888),
            (broadcast, 0x1054_c57e, 0x1568_110e_3044_71fd), ("hello s3", 0xd94a_d0fc, 0xebad_fd3d_d28a_15cd),
            ("123456789" + broadcast, 0x2e6e_10ef, 0x48f0_1ee2_df63_e87b),
        ] as [(String, UInt64, UInt64)])
    func `CRC-32C and CRC-64/NVME match the values of Amazon's library`(
        _ text: String, _ narrow: UInt64, _ wide: UInt64
    ) {
        #expect(CRC(.castagnoli, of: text.utf8).value == narrow)
        #expect(CRC(.nvme, of: text.utf8).value == wide)
    }

    @Test func `CRC-64 values can be concatenated`() {
        let first = CRC(.ecma, of: "123456789".utf8)
        let second = CRC(.ecma, of: Self.broadcast.utf8)
        let both = first.appending(second.value, count: Int64(Self.broadcast.utf8.count))
        #expect(both.value == 7_672_622_622_872_733_320)
        #expect(both == CRC(.ecma, of: ("123456789" + Self.broadcast).utf8))
    }

    @Test func `checksums do not depend on how bytes are split`() {
        var random = SeededGenerator()
        let bytes = (0..<300).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let (wide, narrow) = (CRC(.ecma, of: bytes), CRC(.zlib, of: bytes))
        for cut in 0...bytes.count {
            var parts = CRC(.ecma, of: bytes[..<cut])
            var narrowParts = CRC(.zlib, of: bytes[..<cut])
            let rest = Int64(bytes.count - cut)
            for kind in [CRC.Polynomial.zlib, .castagnoli] {
                let joined = CRC(kind, of: bytes[..<cut]).appending(
                    CRC(kind, of: bytes[cut...]).value, count: rest)
                #expect(joined == CRC(kind, of: bytes), "cut at \(cut), seed \(random.seed)")
            }
            let nvme = CRC(.nvme, of: bytes[..<cut]).appending(CRC(.nvme, of: bytes[cut...]).value, count: rest)
            #expect(nvme == CRC(.nvme, of: bytes), "cut at \(cut), seed \(random.seed)")
            let joined = parts.appending(CRC(.ecma, of: bytes[cut...]).value, count: Int64(bytes.count - cut))
            parts.update(bytes[cut...])
            narrowParts.update(bytes[cut...])
            #expect(parts == wide && joined == wide && narrowParts == narrow, "cut at \(cut), seed \(random.seed)")
        }
    }

    @Test func `appending long runs of zeros matches hashing them`() {
        let zeros = CRC(.ecma, of: [UInt8](repeating: 0, count: 1 << 16))
        var all = zeros
        for _ in 0..<15 { all = all.appending(all.value, count: 0).appending(zeros.value, count: 1 << 16) }
        #expect(all == CRC(.ecma, of: [UInt8](repeating: 0, count: 1 << 20)))
        // A petabyte in one step: it must end, and must not be the identity.
        #expect(zeros.appending(0, count: 1 << 50) != zeros)
    }
}
