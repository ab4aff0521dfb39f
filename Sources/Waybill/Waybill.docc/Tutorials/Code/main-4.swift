import Glibc
import Waybill
import WaybillOutbox

var configuration = Outbox.Configuration()
configuration.credentials = CredentialTable { name in name == "backend" ? .secret("specimen-token") : nil }

do {
    let outbox = try await Outbox(at: "outbox", configuration: configuration)
    if CommandLine.arguments.count == 2 {
        let photo = CommandLine.arguments[1]
        let form: MultipartForm = [
            .credential("TOKEN", named: "backend"),
            .text("BUSINESSNO", "20260117-0042"),
            .image("FILE", path: photo, fileName: "IDFrontImage.jpg", .maxBytes(.kibibytes(100))),
        ]
        var options = EnqueueOptions()
        options.onUnknown = .retry
        let receipt = try await outbox.enqueue(form, to: "http://127.0.0.1:8080/upload", options: options)
        print("item", receipt.id, "is on the disk")
    }

    var slow = UploadSession.Configuration()
    slow.options.transfer.rateLimit = .kibibytes(8)
    try await outbox.runUntilIdle(session: UploadSession(configuration: slow))

    for result in try await outbox.results() {
        print("item", result.item.id, result.isDelivered ? "delivered:" : "failed:", result.text)
        try await outbox.acknowledge(through: result.sequence)
    }
} catch {
    print(error)
    exit(1)
}
