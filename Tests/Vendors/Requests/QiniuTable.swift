import FoundationEssentials
import TestSupport
import WaybillCore
import WaybillStores

/// A value that Waybill computes for Qiniu and the vendor's package computes again.
struct QiniuLine: Encodable {
    /// The name printed with a difference.
    var what: String
    /// `token`, `signature`, `url`, `etag`, `crc32` or `policy`.
    var kind: String
    var accessKey = ""
    var secretKey = ""
    /// The input of the computation: a string, or the length of the pattern in bytes.
    var input = ""
    /// The value computed by Waybill.
    var ours: String
}

enum QiniuTable {
    private static let identities = [("ak", "sk"), ("abcdefghklmnopq", "1234567890"), ("A-_9", "密钥/+=")]
    private static let sizes = [0, 1, 55, 56, 64, 4_194_303, 4_194_304, 4_194_305, 9_437_184]

    /// Returns all values.
    static func lines() async throws -> [QiniuLine] {
        try tokens() + checksums() + (await sent())
    }

    /// Returns the pattern that both sides generate.
    private static func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ ($0 >> 8)) }
    }

    private static func tokens() throws -> [QiniuLine] {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        var lines: [QiniuLine] = []
        for (accessKey, secretKey) in identities {
            let keys = QiniuKeys(accessKey: accessKey, secretKey: .secret(secretKey))
            func add(_ kind: String, _ input: String, _ ours: String) {
                lines.append(
                    QiniuLine(
                        what: "\(kind) of \(accessKey): \(input.prefix(40))", kind: kind, accessKey: accessKey,
                        secretKey: secretKey, input: input, ours: ours))
            }
            for text in ["", "test", "你好/+=", String(repeating: "x", count: 1_000)] {
                add("signature", text, keys.token(for: text.utf8).value)
                add("token", text, keys.token(carrying: text.utf8).value)
            }
            for url in ["http://www.qiniu.com?go=1", "https://img.example/a%20b.jpg"] {
                add("url", url, keys.privateURL(url, until: now).value)
            }
            for scope: QiniuScope in [
                .bucket("b"), .key("a/空 \"+%\\.jpg", bucket: "b"), .newKey("k", bucket: "b"),
                .prefix("p/", bucket: "b"),
            ] {
                var policy = QiniuPutPolicy(scope: scope, deadline: now + 60)
                policy.returnBody = #"{"name":$(fname),"hash":"$(etag)"}"#
                policy.fileSizeLimit = 1 << 20
                policy.allowedTypes = .only(["image/*"])
                policy.endUser = "u\n\u{1}"
                add("policy", scope.text, try keys.uploadToken(for: policy, at: now).text.value)
            }
        }
        return lines
    }

    private static func checksums() -> [QiniuLine] {
        sizes.flatMap { size in
            let bytes = pattern(size)
            return [
                QiniuLine(
                    what: "etag of \(size) bytes", kind: "etag", input: "\(size)", ours: QiniuEtag(of: bytes).value),
                QiniuLine(
                    what: "CRC-32 of \(size) bytes", kind: "crc32", input: "\(size)",
                    ours: "\(CRC(.zlib, of: bytes).value)"),
            ]
        }
    }

    /// Returns tokens and hashes as received over a socket.
    private static func sent() async throws -> [QiniuLine] {
        let store = try QiniuStore()
        var configuration = QiniuClient.Configuration()
        configuration.hosts = .fixed([store.url()])
        configuration.partSize = .mebibytes(1)
        configuration.formThreshold = .mebibytes(1)
        configuration.records = nil
        let keys = QiniuKeys(accessKey: "ak", secretKey: .secret("sk"))
        let client = QiniuClient(tokens: .keys(keys, bucket: "photos"), configuration: configuration)
        var lines: [QiniuLine] = []
        for size in [100_000, 2_500_000] {
            let object = try await client.upload(.data(pattern(size)), to: "k\(size)")
            if size < 1 << 20 {
                lines.append(
                    QiniuLine(
                        what: "hash of a form of \(size) bytes", kind: "etag", input: "\(size)", ours: object.hash ?? ""
                    ))
            }
        }
        for entry in store.state.log where !entry.token.isEmpty {
            lines.append(
                QiniuLine(
                    what: "token of \(entry.lines[0].prefix(60))", kind: "policy", accessKey: "ak", secretKey: "sk",
                    input: entry.bucket, ours: entry.token))
        }
        return lines
    }
}
