import ReceiverKit
import Waybill

/// The size and the digest of one part of a body, read from its chunks.
struct PreparedImage {
    private(set) var byteCount: Int64 = 0
    let sha256: String

    init(of body: MultipartBody, part name: String) async throws {
        guard let range = body.parts.first(where: { $0.name == name })?.range else {
            throw Mismatch("The form has no part \(name).")
        }
        var digest = SHA256()
        var offset: Int64 = 0
        for try await chunk in body.chunks {
            let chunkRange = offset..<(offset + Int64(chunk.count))
            let shared = range.clamped(to: chunkRange)
            if !shared.isEmpty {
                let slice = chunk[Int(shared.lowerBound - offset)..<Int(shared.upperBound - offset)]
                digest.update(slice.span)
                byteCount += Int64(slice.count)
            }
            offset = chunkRange.upperBound
        }
        sha256 = digest.finish().map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
