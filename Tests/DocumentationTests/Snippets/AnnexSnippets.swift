// The samples of the pages of object stores and of the outbox, compiled.
import Foundation
import Waybill
import WaybillOutbox
import WaybillStores

private func ossClient(_ session: UploadSession) async throws {
    // snippet: put into OSS
    var configuration = try AliyunOSSClient.Configuration(endpoint: .region("cn-hangzhou"), bucket: "cards")
    configuration.records = RecordDirectory(path: "/var/lib/kiosk/uploads")
    let client = try AliyunOSSClient(
        configuration: configuration, credentials: .tokenServer("https://backend.example/sts", through: session))
    let stored = try await client.upload(file: "scan.pdf", to: "2026/scan.pdf")
    print(stored.url, stored.etag)
    // end
}

private func presigned(_ session: UploadSession, _ urlFromServer: String) async throws {
    // snippet: presigned
    let ticket = try OSSPresignedUpload(urlFromServer, headers: [.contentType: "image/jpeg"])
    let response = try await session.send(ticket.request(.file(path: "front.jpg")))
    // end
    print(response)
}

private func s3(_ credentials: StoreCredentials) async throws {
    // snippet: put into S3
    var configuration = S3Client.Configuration(.aws, bucket: "cards")
    configuration.region = "eu-west-1"
    let client = try S3Client(configuration: configuration, credentials: .fixed(credentials))
    let stored = try await client.upload(file: "film.mov", to: "2026/film.mov")
    // end
    print(stored)
}

private func compatible(_ account: String) async throws {
    // snippet: put into R2
    var configuration = S3Client.Configuration(.r2, bucket: "cards")
    configuration.endpoint = "https://\(account).r2.cloudflarestorage.com"
    let client = try S3Client(configuration: configuration, credentials: .aws())
    let stored = try await client.upload(file: "film.mov", to: "2026/film.mov")
    print(stored.url, stored.etag)
    // end
}

private func sources() {
    // snippet: credentials of Amazon's tools
    let everywhere: CredentialProvider = .aws()
    let backup: CredentialProvider = .aws([.profile], profile: "backup")
    let pod: CredentialProvider = .aws([.webIdentity, .container])
    // end
    _ = (everywhere, backup, pod)
}

private func once(_ client: S3Client) async throws {
    // snippet: write only once
    var options = S3ObjectOptions()
    options.condition = .isAbsent
    do {
        try await client.put(.file(path: "7.pdf"), to: "orders/7.pdf", options: options)
    } catch {
        guard error.storeCode == "PreconditionFailed" else { throw error }
        // Another program has stored the order.
    }
    // end
}

private func probe(_ client: S3Client) async throws {
    // snippet: probe of conditional writes
    var configuration = client.configuration
    configuration.profile.supportsConditionalWrites = try await client.checkConditionalWrites(key: "write-check")
    // end
    print(configuration)
}

private func queued(_ client: S3Client) async throws {
    // snippet: queue for S3
    var settings = Outbox.Configuration()
    settings.kinds = [DurableS3Upload.self]
    settings.credentials = StoreAccounts(s3: ["backup": .aws()])
    let outbox = try await Outbox(at: "/var/lib/kiosk/outbox", configuration: settings)
    let upload = try await DurableS3Upload(
        file: "film.mov", to: "2026/film.mov", configuration: client.configuration, credential: "backup")
    try await outbox.enqueue(upload)
    try await outbox.run()  // delivers, until the task is cancelled
    // end
}

private func signedForm(_ credentials: StoreCredentials, _ session: UploadSession, _ json: [UInt8]) async throws {
    // snippet: sign a form for S3
    var policy = S3PostPolicy(expiration: .now.addingTimeInterval(600))
    policy.conditions = [.bucket("cards"), .startsWith("key", "2026/"), .contentLength(1...102_400)]
    let signed = try policy.form(
        at: "https://cards.s3.eu-west-1.amazonaws.com/", region: "eu-west-1", credentials: credentials)
    // end
    print(signed)
    // snippet: post a form to S3
    let form = try S3PostForm(json: json)
    let response = try await session.send(form.request(key: "2026/7.jpg", file: .file("file", path: "7.jpg")))
    // end
    print(response)
}

private func qiniu(_ tokens: QiniuTokens, _ session: UploadSession) async throws {
    // snippet: put into Qiniu
    let client = QiniuClient(tokens: tokens, session: session)
    let stored = try await client.upload(.file(path: "front.jpg"), to: "2026/front.jpg")
    // end
    print(stored)
}

private func recipe(_ client: AliyunOSSClient, _ number: String) async throws {
    // snippet: recipe
    let idCardFront = UploadRecipe(
        "ID card, front", key: "idcards/{businessNo}/front-{uuid}{.ext}", image: .maxBytes(.kibibytes(100)))
    let front = try await client.upload(idCardFront, file: "IMG_0042.jpg", parameters: ["businessNo": number])
    print(front.url)
    // end
}

private func handedOver(_ token: String) async throws {
    // snippet: page of the outbox
    var configuration = Outbox.Configuration()
    configuration.credentials = CredentialTable { name in name == "backend" ? .secret(token) : nil }
    let outbox = try await Outbox(at: "/var/lib/kiosk/outbox", configuration: configuration)

    let form: MultipartForm = [
        .credential("TOKEN", named: "backend"),
        .text("BUSINESSNO", "20260117-0042"),
        .image("FILE", path: "front.jpg", .maxBytes(.kibibytes(100))),
    ]
    let receipt = try await outbox.enqueue(form, to: "https://backend.example/upload")
    print(receipt.id)  // stored on disk; survives kill -9 and power cuts
    // end
}
