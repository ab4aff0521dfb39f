import Foundation
import ReceiverKit
import Testing

/// The published examples for FIPS 180-4, and sha256sum(1) for lengths around a block.
struct SHA256Tests {
    @Test func `published examples match`() {
        #expect(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
                == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    }

    @Test func `digests of any chunks equal those of sha256sum`() async throws {
        let scratch = try Scratch()
        defer { scratch.remove() }
        for length in [1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1_000] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            var cut = SHA256()
            for byte in bytes { cut.update([byte].span) }
            var whole = SHA256()
            whole.update(bytes.span)
            let digest = hex(whole.finish())
            #expect(digest == hex(cut.finish()))
            let sum = try await run("sha256sum", [try scratch.write("\(length)", Data(bytes))])
            #expect(String(decoding: sum.output.prefix(64), as: UTF8.self) == digest)
        }
    }

    private func hex(_ text: String) -> String {
        var digest = SHA256()
        digest.update(Array(text.utf8).span)
        return hex(digest.finish())
    }

    private func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }
}
