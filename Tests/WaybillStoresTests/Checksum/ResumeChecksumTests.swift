import Testing
import WaybillCore
import WaybillMultipart
import WaybillStores

@testable import Waybill

@Suite struct ResumeChecksumTests {
    /// The hashes of `abc` in FIPS 180-4.
    private static let vectors: [(ResumeChecksum, String)] = [
        (.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
    ]

    @Test(arguments: vectors) func `a checksum is that of the standard`(
        _ checksum: ResumeChecksum, _ expected: String
    ) async throws {
        let hash = try await checksum.compute(AsyncValues(of: DataBody([0x61, 0x62, 0x63]), size: 1))
        #expect(hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == expected)
    }

    @Test func `only the draft lacks SHA-1`() {
        #expect(ResumeChecksum.sha1.name(in: .draft8) == nil && ResumeChecksum.sha1.name(in: .tus) == "sha1")
        #expect(ResumeChecksum.sha512.name(in: .draft6) == "sha-512")
    }
}
