internal import Crypto

/// A server that counts requests begun, complete bodies and effects for each upload and each key.
///
/// Each upload contains its name in its body as `item-7-`. With `honoursKeys` each idempotency key has one effect,
/// and a second body with the same key has none; otherwise every complete body has an effect.
package struct VerifyingServer: Sendable {
    /// The result of an upload as observed by the server.
    package struct UploadRecord: Sendable {
        package var begun = 0
        package var complete = 0
        package var effects = 0
        package var keys: Set<String> = []
        /// The SHA-256 of each complete body in hexadecimal digits.
        package var digests: Set<String> = []

        package init() {}
    }

    package let server: LoopbackServer
    package let honoursKeys: Bool

    /// Creates a server with random faults: resets during and after the body, truncated responses, and temporary
    /// rejections.
    package init(honoursKeys: Bool, faults: Int, outOf requests: Int, using random: inout SeededGenerator) throws {
        self.honoursKeys = honoursKeys
        server = try LoopbackServer(otherwise: .respond(200, body: "stored"))
        for _ in 0..<requests {
            guard Int.random(in: 0..<requests, using: &random) < faults else {
                server.script(.respond(200, body: "stored"))
                continue
            }
            let faults: [Behaviour] = [
                .reset(afterBodyBytes: Int.random(in: 1..<100, using: &random)), .closeWithoutResponse(),
                .closeWithoutResponse(.reset), .truncatedResponse("HTTP/1.1 200 OK\r\nConte"), .respond(503),
                .respond(429),
            ]
            server.script(faults.randomElement(using: &random)!)
        }
    }

    /// Returns the SHA-256 of a body in the format of ``UploadRecord/digests``.
    package static func digest(of body: [UInt8]) -> String {
        SHA256.hash(data: body).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// All uploads by name. A 503 or 429 has no effect: such a response means that nothing was done.
    package var accounts: [String: UploadRecord] {
        var accounts: [String: UploadRecord] = [:]
        for request in server.requests {
            let text = String(decoding: request.body, as: UTF8.self)
            let name = text.firstMatch(of: /item-\d+-/).map { String($0.0) } ?? "unnamed"
            let key = request.value(of: "Idempotency-Key") ?? "none"
            var record = accounts[name] ?? UploadRecord()
            record.begun += 1
            if request.isComplete, !refused(request) {
                record.complete += 1
                let isNew = record.keys.insert(key).inserted
                if isNew || !honoursKeys { record.effects += 1 }
                record.digests.insert(Self.digest(of: request.body))
            }
            accounts[name] = record
        }
        return accounts
    }

    private func refused(_ request: RecordedRequest) -> Bool {
        request.responseStatus == 503 || request.responseStatus == 429
    }
}
