import Foundation
import ReceiverKit
import Waybill

/// The common fields of the uploads of one business case.
struct Business: Sendable {
    let token: Secret
    let number: String
}

/// The upload of one side, from the photo to the comparison with the stored bytes.
struct CardUpload {
    let side: String
    let path: String
    let business: Business
    /// The limit in bytes per second, slow enough for a moving progress bar.
    var rate = ByteCount.kibibytes(200)
    /// The percentage at which the backend closes the connection; `nil` for an ordinary upload.
    var cutPercent: Int?

    static let limit = ByteCount.kibibytes(100)

    private var form: MultipartForm {
        [
            .text("TOKEN", business.token),
            .text("USERNO", "10086"),
            .text("BUSINESSTYPE", "OPEN-ACCOUNT"),
            .text("BUSINESSNO", business.number),
            .text("DOCTYPE", "ID-\(side.uppercased())"),
            .image("FILE", path: path, fileName: "ID-\(side).jpg", .maxBytes(Self.limit)),
        ]
    }

    private var options: UploadOptions {
        var options = UploadOptions()
        options.transfer.rateLimit = rate
        guard cutPercent != nil else { return options }
        var resume = ResumeOptions()
        // By default only forms of 1 MiB or more are resumable, and the first append has 4 MiB.
        resume.minimumLength = .kibibytes(1)
        resume.firstAppend = .kibibytes(32)
        resume.maximumAppend = .kibibytes(32)
        // No other process continues this upload.
        resume.records = nil
        options.resume = resume
        return options
    }

    func run(_ session: UploadSession, to url: String) async throws {
        let start = ContinuousClock.now
        let body = try await form.prepared()
        let image = try await PreparedImage(of: body, part: "FILE")
        let original = try ByteCount(bytes: Int64(Data(contentsOf: URL(filePath: path)).count))
        printLine("\(side): \(original) -> \(ByteCount(bytes: image.byteCount)) in \(Format.seconds(.now - start))")

        let bar = ProgressBar(label: side, cutPercent: cutPercent)
        let task = session.start(.body(body), to: url, method: .post, options: options)
        for await progress in task.progress { bar.show(progress) }
        let response = try await task.response

        let reply = try response.decode(Reply.self)
        printLine("  HTTP \(response.status.code), RETCODE \(reply.RETCODE) (\(reply.RETMSG))")
        for file in reply.DATA?.FILES ?? [] {
            printLine("  sha256 here  \(image.sha256)")
            printLine("  sha256 there \(file.sha256)  \(file.width ?? 0) x \(file.height ?? 0)")
        }
        try check(reply, image)
    }

    /// Compares the backend's response with the bytes sent.
    func check(_ reply: Reply, _ image: PreparedImage) throws {
        guard reply.RETCODE == "000000" else {
            throw Mismatch("The backend rejected the form with \(reply.RETCODE): \(reply.RETMSG)")
        }
        guard let file = reply.DATA?.FILES.first, reply.DATA?.FILES.count == 1 else {
            throw Mismatch("The backend did not store exactly one file.")
        }
        try require(image.byteCount <= Self.limit.bytes, "The image is larger than \(Self.limit).")
        try require(file.bytes == image.byteCount, "The backend stored \(file.bytes) of \(image.byteCount) bytes.")
        try require(file.sha256 == image.sha256, "The backend stored different bytes.")
        try require(file.fileName == "ID-\(side).jpg", "The backend has the wrong file name \(file.fileName).")
        try require(file.width != nil && file.height != nil, "The backend could not read the image.")
        let names = reply.DATA?.FIELDS.map(\.name)
        try require(
            names == ["USERNO", "BUSINESSTYPE", "BUSINESSNO", "DOCTYPE"], "The backend stored different fields.")
    }

    private func require(_ isExpected: Bool, _ message: String) throws {
        if !isExpected { throw Mismatch(message) }
    }
}

/// The response of the backend.
struct Reply: Decodable, Sendable {
    struct Content: Decodable, Sendable {
        let FIELDS: [Field]
        let FILES: [File]
    }

    struct Field: Decodable, Sendable {
        let name: String
        let value: String
    }

    struct File: Decodable, Sendable {
        let fileName: String
        let bytes: Int64
        let sha256: String
        let width: Int?
        let height: Int?
    }

    let RETCODE: String
    let RETMSG: String
    let DATA: Content?
}

/// A failed check.
struct Mismatch: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

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
