import Glibc
import Waybill
import WaybillOutbox

var configuration = Outbox.Configuration()
configuration.credentials = CredentialTable { name in name == "backend" ? .secret("specimen-token") : nil }

let form: MultipartForm = [
    .credential("TOKEN", named: "backend"),
    .text("BUSINESSNO", "20260117-0042"),
    .image("FILE", path: "front.jpg", fileName: "IDFrontImage.jpg", .maxBytes(.kibibytes(100))),
]
do {
    let outbox = try await Outbox(at: "outbox", configuration: configuration)
    let receipt = try await outbox.enqueue(form, to: "http://127.0.0.1:8080/upload")
    print("item", receipt.id, "is on the disk")
    try await outbox.runUntilIdle()
    for result in try await outbox.results() {
        print("item", result.item.id, result.isDelivered ? "delivered" : "failed")
    }
} catch {
    print(error)
    exit(1)
}
