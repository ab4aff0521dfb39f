import Waybill
import WaybillOutbox

var configuration = Outbox.Configuration()
configuration.credentials = CredentialTable { name in name == "backend" ? .secret("specimen-token") : nil }
let outbox = try await Outbox(at: "outbox", configuration: configuration)

if CommandLine.arguments.count == 3 {
    let form: MultipartForm = [
        .credential("TOKEN", named: "backend"),
        .text("BUSINESSNO", "20260117-0042"),
        .image("FILE", path: CommandLine.arguments[2], fileName: "IDFrontImage.jpg", .maxBytes(.kibibytes(100))),
    ]
    var options = EnqueueOptions()
    options.onUnknown = .retry
    let receipt = try await outbox.enqueue(form, to: CommandLine.arguments[1], options: options)
    print("item", receipt.id, "is on the disk")
}

var slow = UploadSession.Configuration()
slow.options.transfer.rateLimit = .kibibytes(20)
try await outbox.runUntilIdle(session: UploadSession(configuration: slow))

for result in try await outbox.results() {
    print("item", result.item.id, result.isDelivered ? "delivered:" : "failed:", result.text)
    try await outbox.acknowledge(through: result.sequence)
}
