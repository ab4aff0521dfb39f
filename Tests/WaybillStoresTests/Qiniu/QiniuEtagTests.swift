import Testing

@testable import WaybillStores

struct QiniuEtagTests {
    /// The file of the vectors: blocks of 8 KiB, each with its own number 1,023 times, then zeros.
    private static func file(kibibytes: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(kibibytes * 1_024)
        for block in 0..<(kibibytes / 8) {
            let number = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: block >> $0) }
            for _ in 0..<1_023 { bytes += number }
            bytes += [UInt8](repeating: 0, count: 8_192 - 4 * 1_023)
        }
        return bytes
    }

    @Test(arguments: [("", "Fto5o-5ea0sNMlW_75VgGJCv2AcJ"), ("etag", "FpLiADEaVoALPkdb8tJEJyRTXoe_")])
    func `hashes of short texts match published ones`(text: String, expected: String) {
        #expect(QiniuEtag(of: text.utf8).value == expected)
    }

    @Test(arguments: [
        (1_024, "FqOV9T8l48x1u9dFEOROzwp4b0jr"), (4_096, "FgtlGCfS97kgqopAxq0vvKRA5o_R"),
        (5_120, "lvtM_iKNnZXkZR8U3Fvi_QQO2yyi"), (8_192, "lhiIbcJgsRrl46LwMD9KHAQRLH2O"),
        (9_216, "ll1xhlUFKQqynVgMMt_J1TuTrdB1"),
    ])
    func `hashes of files with one or more blocks match published ones`(kibibytes: Int, expected: String) {
        let bytes = Self.file(kibibytes: kibibytes)
        #expect(QiniuEtag(of: bytes).value == expected)
        // The same in chunks that are not aligned to blocks.
        var etag = QiniuEtag()
        var rest = bytes[...]
        while !rest.isEmpty {
            etag.update(rest.prefix(1_000_003))
            rest = rest.dropFirst(1_000_003)
            _ = etag.value
        }
        #expect(etag.value == expected)
        #expect(QiniuEtag.value(ofBlockHashes: etag.blockHashes) == expected)
    }

    @Test(arguments: [
        ("Hello, World!", 3_964_322_768 as UInt64), ("123456789", 3_421_780_262), ("hello oss", 2_673_654_129), ("", 0),
    ])
    func `the checksum of a form is CRC-32`(text: String, expected: UInt64) {
        #expect(CRC(.zlib, of: text.utf8).value == expected)
    }
}
