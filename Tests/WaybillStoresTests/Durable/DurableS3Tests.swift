import Foundation
import HTTPTypes
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox
@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `Durable S3 uploads` {
    private func ask(
        _ fixture: DurableFixture, _ upload: DurableS3Upload, _ resume: [UInt8]? = nil
    ) async throws -> String {
        try await upload.verify(fixture.delivery(resume: resume)).name
    }

    // MARK: Delivery

    @Test(arguments: [0, 1, 150_000, 150_001, 500_000], [nil, S3Checksum.crc64NVME])
    func `a file of any size becomes one object, in one request or in parts`(
        _ size: Int, _ checksum: S3Checksum?
    ) async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(size)
        let outbox = try await fixture.open()
        try await outbox.enqueue(try await fixture.toS3(file.path, checksum) { $0.metadata = ["author": "alice"] })
        try await fixture.deliver(outbox)
        let result = try #require(try await outbox.results().first)
        #expect(result.isDelivered && result.status == 200, "\(result.message ?? "")")
        let object = try #require(fixture.s3.object("k"))
        #expect(object.content.size == size && object.timesStored == 1 && object.content.bytes == file.bytes)
        #expect(object.fields["x-amz-meta-author"] == "alice" && (object.checksum != nil) == (checksum != nil))
        #expect(fixture.s3.state.log(.uploadPart).count == (size > 150_000 ? (size + 102_399) / 102_400 : 0))
        await outbox.close()
    }

    @Test func `bytes are stored in the outbox until they are delivered`() async throws {
        let fixture = try DurableFixture()
        let outbox = try await fixture.open()
        let bytes = QiniuFixture.bytes(300_000)
        try await outbox.enqueue(
            try DurableS3Upload(bytes, to: "bytes", configuration: fixture.s3Configuration, credential: "test"))
        try await fixture.deliver(outbox)
        #expect(try await outbox.tally()[.done] == 1)
        #expect(fixture.s3.object("bytes")?.content.size == 300_000)
        await outbox.close()
    }

    @Test func `a conditional write whose response is lost is verified and not sent again`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        let outbox = try await fixture.open()
        try await outbox.enqueue(try await fixture.toS3(file.path) { $0.condition = .isAbsent })
        fixture.s3.fail(.storeThenDrop, on: .putObject)
        fixture.s3.fail(.html(status: 503), on: .headObject)
        try await fixture.deliver(outbox)
        #expect(try await outbox.results().first?.isDelivered == true)
        #expect(fixture.s3.object("k")?.timesStored == 1 && fixture.s3.state.log(.putObject).count == 1)
        await outbox.close()
    }

    @Test func `a request that the store asks for again is repeated by the queue`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        let outbox = try await fixture.open()
        try await outbox.enqueue(try await fixture.toS3(file.path))
        // Each delivery sends the request twice.
        fixture.s3.fail(.refused(status: 400, code: "RequestTimeout"), on: .putObject, times: 3)
        try await fixture.deliver(outbox)
        #expect(try await outbox.results().first?.isDelivered == true)
        #expect(fixture.s3.state.log(.putObject).count == 4)
        await outbox.close()
    }

    @Test func `an unmet condition is a final failure`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        fixture.s3.put("k", [1])
        let outbox = try await fixture.open()
        try await outbox.enqueue(try await fixture.toS3(file.path) { $0.condition = .isAbsent })
        try await fixture.deliver(outbox)
        let result = try #require(try await outbox.results().first)
        #expect(result.item.state == .failed && result.status == 412)
        #expect(fixture.s3.state.log(.putObject).count == 1)
        await outbox.close()
    }

    // MARK: Verification

    @Test(arguments: [nil, S3Checksum.sha256, .crc64NVME], [1_000, 500_000])
    func `an object is verified by its size and its checksum or ETag`(_ checksum: S3Checksum?, _ size: Int) async throws
    {
        let fixture = try DurableFixture()
        let file = try fixture.file(size)
        let upload = try await fixture.toS3(file.path, checksum)
        #expect(try await ask(fixture, upload) == "absent")
        fixture.s3.put("k", QiniuFixture.bytes(size - 1))
        #expect(try await ask(fixture, upload) == "absent")
        fixture.s3.put("k", QiniuFixture.bytes(size, seed: 99))
        #expect(try await ask(fixture, upload) == (checksum == nil ? "absent" : "undetermined"))
        let kept = Watched<[[UInt8]]>([])
        _ = try await upload.deliver(fixture.delivery(kept: kept))
        #expect(try await ask(fixture, upload) == "delivered")
        // The file is changed: only the record of the parts is left.
        try fixture.folder.overwrite("film.mov", at: 5, [0, 1])
        #expect(try await ask(fixture, upload) == "undetermined")
        if size > 150_000 { #expect(try await ask(fixture, upload, kept.value.last) == "delivered") }
    }

    @Test func `verification resumes the parts that the store lists`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(500_000)
        let upload = try await fixture.toS3(file.path)
        fixture.s3.fail(.denied, on: .uploadPart, part: 4)
        let kept = Watched<[[UInt8]]>([])
        _ = try await uploadError { try await upload.deliver(fixture.delivery(kept: kept)) }
        let resume = try #require(kept.value.last)
        #expect(try await ask(fixture, upload, resume) == "resume")
        _ = try await upload.deliver(fixture.delivery(resume: resume))
        #expect(fixture.s3.state.log(.initiate).count == 1)
        #expect(fixture.s3.state.counts.values.allSatisfy { $0.resentAfterStored == 0 })
        #expect(fixture.s3.object("k")?.content.bytes == file.bytes)
    }

    @Test(arguments: [true, false]) func `without permission to verify, only an unconditional upload is repeatable`(
        _ isConditional: Bool
    ) async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        fixture.s3.fail(.denied, on: .headObject, times: nil)
        let upload = try await fixture.toS3(file.path) { if isConditional { $0.condition = .isAbsent } }
        #expect(try await ask(fixture, upload) == (isConditional ? "undetermined" : "repeatable"))
    }

    // MARK: Encoding

    @Test func `all options survive encoding, without secrets`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        var configuration = fixture.s3Configuration
        configuration.checksum = .crc32C
        configuration.addressing = .virtualHost
        configuration.endpoint = "https://s3.{region}.example.com"
        configuration.singleRequestLimit = .bytes(7)
        var options = S3ObjectOptions()
        options.headers = [.cacheControl: "no-cache"]
        options.metadata = ["author": "Ä"]
        options.metadataPolicy = .percentEncode
        options.acl = "private"
        options.storageClass = "STANDARD_IA"
        options.tags = ["year": "2026"]
        options.encryption = "aws:kms"
        options.encryptionKeyID = "key-1"
        options.condition = .matches(etag: "\"0\"")
        let upload = try await DurableS3Upload(
            file: file.path, to: "films/7.pdf", configuration: configuration, in: "other-bucket", credential: "test",
            options: options)
        let text = try JSONEncoder().encode(upload)
        let back = try JSONDecoder().decode(DurableS3Upload.self, from: text)
        options.contentType = "application/pdf"
        #expect(back.options == options && back.sending == upload.sending && back.files == upload.files)
        #expect(back.bucket == "other-bucket" && back.key == "films/7.pdf" && back.credential == "test")
        #expect(back.lane == upload.lane)
        #expect(back.lane.description == "other-bucket.s3.us-east-1.example.com:443 as test")
        #expect(back.sending.configuration.checksum == .crc32C)
        #expect(back.sending.configuration.profile.supportsConditionalWrites)
    }

    @Test func `invalid uploads are refused on creation`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(300_000)
        for name in ["authorization", "x-amz-security-token", "x-amz-server-side-encryption-customer-key"] {
            let error = try await storeError {
                try await fixture.toS3(file.path) { $0.headers[HTTPField.Name(name)!] = "x" }
            }
            #expect(error.code.description == "notDurable")
        }
        #expect(try await storeError { try await fixture.toS3("/nowhere") }.code.description == "fileNotFound")
        func refused(_ change: (inout S3Client.Configuration) -> Void) async throws -> StoreError.Code {
            var configuration = fixture.s3Configuration
            change(&configuration)
            return try await storeError {
                try await DurableS3Upload(
                    file: file.path, to: "k", configuration: configuration, credential: "test")
            }.code
        }
        #expect(try await refused { $0.bucket = nil } == .invalidBucket)
        #expect(try await refused { $0.bucket = "B" } == .invalidBucket)
        #expect(try await refused { $0.region = nil } == .invalidRegion)
        #expect(try await refused { $0.endpoint = "ftp://x" } == .invalidEndpoint)
        #expect(try await refused { $0.partSize = .bytes(1) } == .invalidArgument)
        #expect(try await refused { $0.allowsUnencrypted = false } == .encryptionRequired)
    }
}
