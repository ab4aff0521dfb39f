// The samples of the guide to forms, compiled.
import Foundation
import Waybill

private func shapes(token: String?, paths: [String]) throws {
    // snippet: form literals
    let list: MultipartForm = [.text("DOCTYPE", "ID"), .file("FILE", path: "front.jpg")]
    let fields: MultipartForm = ["DOCTYPE": "ID", "copies": 2, "owner": ["name": "张三", "phones": ["1", "2"]]]
    let built = MultipartForm {
        MultipartPart.text("DOCTYPE", "ID")
        if let token { MultipartPart.text("TOKEN", .secret(token)) }
        for path in paths { MultipartPart.file("FILE", path: path) }
    }
    // end
    print(list, fields, built)
    // snippet: form fields
    struct Order: Encodable { var orderNumber: Int, tags: [String] }
    var form = MultipartForm()
    try form.append(fields: Order(orderNumber: 7, tags: ["a", "b"]), encoder: FormFieldEncoder(keys: .snakeCase))
    // order_number=7, tags[]=a, tags[]=b
    // end
    print(form)
}

private func variables(type: String, token: String, count: Int, tags: [String], path: String, side: String) {
    // snippet: form variables
    let fields: MultipartForm = [
        "DOCTYPE": .text(type), "TOKEN": .secret(token), "note": "\(count) copies",
        "tags": .list(tags.map { .text($0) }), "FILE": .file(path: path), "META": .json(["side": side]),
    ]
    // end
    print(fields)
}

private func order(photo: [UInt8]) {
    // snippet: form order
    var form: MultipartForm = [
        .file("file", path: "backup.tar", range: 0..<5_242_880, fileName: "backup.tar.1"),
        .data("photo", photo, named: .now, in: TimeZone(secondsFromGMT: 8 * 3_600)!),  // 20261121143950.jpg
        .text("key", "2026/backup.tar"),
    ]
    form.order = .filesLast
    form.compatibility = .backslashEscapes
    // end
    print(form)
}

private func streams(log: AsyncStream<[UInt8]>, video: AsyncStream<[UInt8]>, size: Int64, archive: Archive) {
    // snippet: form streams
    var form: MultipartForm = [
        .stream("log", log, length: nil, fileName: "run.log"),  // read first
        .stream("video", video, length: size, fileName: "a.mp4", replay: .fromCopy),  // sent as it comes
        .stream("backup", length: size, fileName: "db.zst") { try await archive.export() },  // made anew for a retry
    ]
    form.unknownLength = .spill(threshold: .mebibytes(8))
    form.temporaryDirectory = "/var/tmp"
    // end
    print(form)
}

private func limits(form original: MultipartForm) async throws {
    var form = original
    // snippet: form limits
    form.limits = FormLimits(
        maxPartBytes: .mebibytes(5), maxTotalBytes: .mebibytes(20), allowedTypes: ["image/jpeg", "image/png"])
    try await form.check(against: form.limits!)  // now; the upload checks again what it made
    // end
}

private func looking(form: MultipartForm) async throws {
    // snippet: form looking
    print(form.curlCommand(to: "https://backend.example/upload"))  // curl '…' -F …, secrets redacted
    let body = try await form.prepared()
    print(body.contentLength ?? 0, body.preview())  // header lines, and the size of each content
    try await body.write(to: "form.bin")
    for try await chunk in body.chunks(ofSize: 524_288) { print(chunk.count) }
    // end
}

private struct Archive: Sendable {
    func export() async throws -> AsyncStream<[UInt8]> { AsyncStream { $0.finish() } }
}
