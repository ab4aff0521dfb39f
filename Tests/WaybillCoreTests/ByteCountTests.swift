import Testing
import WaybillCore

@Suite struct ByteCountTests {
    @Test(arguments: [
        ("0", 0), ("102400", 102_400), ("100KB", 100_000), ("100kb", 100_000), ("100KiB", 102_400), ("100K", 102_400),
        ("1.5M", 1_572_864), ("2GB", 2_000_000_000), ("1g", 1_073_741_824),
    ])
    func `sizes with units are parsed`(text: String, bytes: Int64) {
        #expect(ByteCount(text)?.bytes == bytes)
    }

    @Test(arguments: ["", "K", "-1", "1.2.3K", "10 KB", "5XB", "99999999999G", "１００"])
    func `an invalid size is rejected`(text: String) {
        #expect(ByteCount(text) == nil)
    }

    @Test(arguments: [(512, "512 B"), (102_400, "100.0 KiB"), (4_404_019, "4.2 MiB"), (1 << 40, "1.0 TiB")])
    func `a size is printed in a fitting unit`(bytes: Int64, text: String) {
        #expect(ByteCount.bytes(bytes).description == text)
    }
}
