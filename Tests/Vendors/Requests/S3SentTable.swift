import HTTPTypes
import TestSupport
import Waybill
import WaybillCore
import WaybillStores

/// Requests that `S3Client` sent over a socket, as received by the store.
enum S3SentTable {
    /// Returns all requests.
    static func lines() async throws -> [RequestLine] {
        var lines: [RequestLine] = []
        for identity in SignedTable.identities {
            var settings = OSSStoreSettings()
            settings.dialect = .s3
            settings.region = "eu-west-1"
            settings.accounts = [OSSAccount(identity.id, identity.secret, token: identity.token)]
            let store = try OSSStore(settings)
            for addressing in [S3Profile.Addressing.path, .virtualHost] {
                try await send(client(identity, addressing, store))
            }
            lines += store.state.log.map { line($0, identity) }
        }
        return lines
    }

    private static func client(
        _ identity: (id: String, secret: String, token: String?), _ addressing: S3Profile.Addressing, _ store: OSSStore
    ) throws -> S3Client {
        var profile = S3Profile.aws
        profile.minimumPartSize = .bytes(102_400)
        profile.addressing = addressing
        var configuration = S3Client.Configuration(profile, bucket: "examplebucket")
        configuration.endpoint = addressing == .path ? store.endpoint : store.namedEndpoint
        configuration.region = "eu-west-1"
        configuration.checksum = addressing == .path ? .md5 : .sha256
        configuration.allowsUnencrypted = true
        configuration.records = nil
        configuration.partSize = .bytes(102_400)
        configuration.singleRequestLimit = .bytes(0)
        let credentials = StoreCredentials(
            accessKeyID: identity.id, accessKeySecret: .secret(identity.secret),
            securityToken: identity.token.map { .secret($0) })
        return try S3Client(configuration: configuration, credentials: .fixed(credentials))
    }

    private static func send(_ client: S3Client) async throws {
        var options = S3ObjectOptions()
        options.headers = [.cacheControl: "max-age=60", .contentDisposition: "attachment"]
        options.metadata = ["author": "alice", "note": "a,  b"]
        options.acl = "private"
        options.storageClass = "STANDARD_IA"
        options.tags = ["colour": "light blue"]
        options.condition = .isAbsent
        let folder = try TemporaryDirectory()
        let file = try folder.write("file", SeededGenerator.pattern(250_000))
        for key in S3Table.keys {
            try await client.put(.data(Array("hello s3".utf8)), to: key, options: options)
            _ = try await client.head(key)
            try await client.delete(key)
            try await client.upload(file: file, to: key, options: options)
            try await client.delete(key)
        }
    }

    private static func line(
        _ entry: OSSLogEntry, _ identity: (id: String, secret: String, token: String?)
    ) -> RequestLine {
        let words = entry.lines[0].split(separator: " ").map(String.init)
        var line = RequestLine(
            what: "S3 sent \(entry.lines[0])", id: identity.id, secret: identity.secret, token: identity.token)
        line.method = words[0]
        line.target = "http://\(entry.value(of: "Host") ?? "")\(words[1])"
        line.payload = entry.value(of: "x-amz-content-sha256")
        line.key = entry.key
        line.region = "eu-west-1"
        line.headers = entry.lines.dropFirst().map { text in
            let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return [halves[0], String(halves[1].drop { $0 == " " })]
        }
        return line
    }
}
