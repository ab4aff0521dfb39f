import FoundationEssentials
import Glibc
import TestSupport
import Waybill
import WaybillCore
import WaybillMultipart
import WaybillStores

/// Uploads to a foreign server with the protocol of S3, which judges our client. Prints a line of JSON for each step.
///
///     VendorRequests s3-uploads ENDPOINT PROFILE DIRECTORY
///
/// The bucket is `examplebucket`, the account `ak` with the secret `s3cr3t`. It waits for a line on its standard input
/// after the step `abandoned`, so that the caller can list the multipart uploads, and after the step `lost`, so that the
/// caller can abort them.
struct S3Uploads {
    private struct Line: Encodable {
        var what: String
        var result: String
    }

    private let client: S3Client
    private let credentials = StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("s3cr3t"))
    private let directory: String
    private let profile: S3Profile

    init(_ words: [String]) throws {
        guard words.count == 3 else { throw UsageError(text: "s3-uploads ENDPOINT PROFILE DIRECTORY") }
        switch words[1] {
        case "aws": profile = .aws
        case "ceph": profile = .ceph
        default: throw UsageError(text: "not a profile: \(words[1])")
        }
        directory = words[2]
        client = try Self.client(words[0], profile, directory, credentials, nil)
    }

    private static func client(
        _ endpoint: String, _ profile: S3Profile, _ directory: String, _ credentials: StoreCredentials,
        _ checksum: S3Checksum?
    ) throws -> S3Client {
        var configuration = S3Client.Configuration(profile, bucket: "examplebucket")
        configuration.endpoint = endpoint
        configuration.region = "us-east-1"
        configuration.addressing = .path
        configuration.allowsUnencrypted = true
        configuration.checksum = checksum
        configuration.partSize = .mebibytes(5)
        configuration.maximumConcurrentParts = 1
        configuration.singleRequestLimit = .mebibytes(5)
        configuration.records = RecordDirectory(path: "\(directory)/records")
        return try S3Client(configuration: configuration, credentials: .fixed(credentials))
    }

    func run() async throws {
        let bytes = Array("hello s3".utf8)
        try await say("put") { try await client.put(.data(bytes), to: "空 1+2%.txt").etag }
        try await say("empty") { try await client.put(.data([]), to: "empty").etag }
        for checksum in S3Checksum.allCases where profile.checksums.contains(checksum) {
            let client = try Self.client(
                client.configuration.endpoint ?? "", profile, directory, credentials, checksum)
            try await say("put \(checksum)") { try await client.put(.data(bytes), to: "put-\(checksum)").etag }
            try await say("parts \(checksum)") {
                "\(try await client.upload(file: "\(directory)/film", to: "parts-\(checksum)").beginning)"
            }
        }
        try await conditions(bytes)
        try await forms(bytes)
        try await resume()
    }

    private func conditions(_ bytes: [UInt8]) async throws {
        var options = S3ObjectOptions()
        options.condition = .isAbsent
        try await say("absent") { try await client.put(.data(bytes), to: "c", options: options).etag }
        try await say("present") { try await client.put(.data([1]), to: "c", options: options).etag }
        try await say("present parts") {
            try await client.upload(file: "\(directory)/film", to: "c", options: options).etag
        }
        try await client.abandonUpload(file: "\(directory)/film", to: "c")
        options.condition = .matches(
            etag: try await client.head(profile.supportsConditionalWrites ? "c" : "empty").etag)
        try await say("same") { try await client.put(.data([1]), to: "c", options: options).etag }
        try await say("stale") { try await client.put(.data([2]), to: "c", options: options).etag }
        try await say("probe") { "\(try await client.checkConditionalWrites(key: "probe"))" }
    }

    private func forms(_ bytes: [UInt8]) async throws {
        let url = "\(client.configuration.endpoint ?? "")/examplebucket"
        var policy = S3PostPolicy(expiration: .now.addingTimeInterval(600))
        policy.conditions = [.bucket("examplebucket"), .startsWith("key", "form/"), .contentLength(1...100)]
        let form = try policy.form(at: url, region: "us-east-1", credentials: credentials)
        let request = try form.request(key: "form/空.txt", file: .data("f", bytes, fileName: "a.txt"))
        try await say("form") { "\(try await client.session.send(request).status.code)" }
        let put = S3RequestToSign(.put, "\(url)/\(PercentEncoding.path("url/空.txt"))")
        let upload = try put.presignedUpload(with: credentials, region: "us-east-1", validFor: .seconds(600))
        try await say("URL") { "\(try await client.session.send(upload.request(.data(bytes))).status.code)" }
    }

    private func resume() async throws {
        let file = "\(directory)/film"
        try await say("begun") { try await begin(file, "resumed") }
        try await say("resumed") { "\(try await client.upload(file: file, to: "resumed").beginning)" }
        try await say("abandoned") { try await begin(file, "abandoned") }
        _ = readLine()
        try await client.abandonUpload(file: file, to: "abandoned")
        try await say("lost") { try await begin(file, "lost") }
        _ = readLine()
        try await say("begun again") { "\(try await client.upload(file: file, to: "lost").beginning)" }
    }

    /// Begins an upload and cancels it when the store has a part.
    private func begin(_ file: String, _ key: String) async throws -> String {
        let upload = client.startUpload(file: file, to: key)
        for await progress in upload.progress where progress.acknowledged >= 5 << 20 {
            upload.cancel()
            break
        }
        do throws(StoreError) {
            _ = try await upload.value
            return "complete"
        } catch {
            return error.isCancelled ? "cancelled" : "\(error)"
        }
    }

    private func say(_ what: String, _ work: () async throws -> String) async throws {
        let result: String
        do {
            result = try await work()
        } catch let error as StoreError {
            result = error.storeCode ?? error.code.description
        }
        let text = try JSONEncoder().encode(Line(what: what, result: result))
        print(String(decoding: text, as: UTF8.self))
        fflush(nil)
    }
}
