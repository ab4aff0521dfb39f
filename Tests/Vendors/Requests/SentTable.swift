import Waybill
import HTTPTypes
import TestSupport
import WaybillCore
import WaybillStores

/// Requests that `OSSClient` sent over a socket, as received by the store.
enum SentTable {
    static let keys = ["plain.jpg", "a+b c%d#e?f.jpg", "空/照片 1.jpg", "dir//double/./dots/../x", "~-_.!*'()"]

    /// Returns all requests.
    static func lines() async throws -> [RequestLine] {
        var lines: [RequestLine] = []
        for identity in SignedTable.identities {
            for version in OSSSignatureVersion.allCases {
                var settings = OSSStoreSettings()
                settings.accounts = [OSSAccount(identity.id, identity.secret, token: identity.token)]
                let store = try OSSStore(settings)
                try await send(to: store, client(identity, version, store))
                lines += store.state.log.compactMap { line($0, identity, version) }
            }
        }
        return lines
    }

    private static func client(
        _ identity: (id: String, secret: String, token: String?), _ version: OSSSignatureVersion, _ store: OSSStore
    ) throws -> AliyunOSSClient {
        var configuration = AliyunOSSClient.Configuration(
            endpoint: try OSSEndpoint(store.endpoint), bucket: "examplebucket")
        configuration.region = "cn-hangzhou"
        configuration.signatureVersion = version
        configuration.allowsUnencrypted = true
        configuration.records = nil
        configuration.partSize = .bytes(102_400)
        configuration.singleRequestLimit = .bytes(0)
        if version == .v4 { configuration.additionalHeaders = [.cacheControl, HTTPField.Name("Host")!] }
        let credentials = StoreCredentials(
            accessKeyID: identity.id, accessKeySecret: .secret(identity.secret),
            securityToken: identity.token.map { .secret($0) })
        return try AliyunOSSClient(configuration: configuration, credentials: .fixed(credentials))
    }

    private static func send(to store: OSSStore, _ client: AliyunOSSClient) async throws {
        var options = OSSObjectOptions()
        options.headers = [.cacheControl: "max-age=60", .contentDisposition: "attachment"]
        options.metadata = ["author": "alice", "note": "a, b"]
        options.access = .private
        options.storageClass = .standard
        options.tags = ["colour": "light blue"]
        options.trafficLimit = 819_200
        options.callback = OSSCallback(["http://127.0.0.1/"], body: "k=${object}&v=${x:v}")
        options.callback?.variables = ["v": "1 空"]
        let folder = try TemporaryDirectory()
        let file = try folder.write("file", SeededGenerator.pattern(250_000))
        for key in keys {
            try await client.put(.data(Array("hello oss".utf8)), to: key, options: options)
            _ = try await client.head(key)
            try await client.upload(file: file, to: "parts/\(key)", options: options)
            try await client.delete(key)
        }
        var plain = OSSObjectOptions()
        plain.contentType = "text/plain"
        try await client.append(.data(Array("hello ".utf8)), to: "log", at: 0, options: plain)
        try await client.append(.data(Array("oss".utf8)), to: "log", at: 6, options: plain)
    }

    private static func line(
        _ entry: OSSLogEntry, _ identity: (id: String, secret: String, token: String?), _ version: OSSSignatureVersion
    ) -> RequestLine? {
        let words = entry.lines[0].split(separator: " ").map(String.init)
        var line = RequestLine(
            what: "sent \(version) \(entry.lines[0])", id: identity.id, secret: identity.secret, token: identity.token)
        line.method = words[0]
        line.target = words[1]
        line.headers = entry.lines.dropFirst().map { text in
            let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return [halves[0], String(halves[1].drop { $0 == " " })]
        }
        line.bucket = entry.bucket ?? ""
        line.key = entry.key
        return line
    }
}
