// The steps of the tutorial, compiled. The last one is a program of its own: Tests/TutorialProgram.
import Waybill
import WaybillOutbox

private func first() async throws {
    // snippet: tutorial, first step
    let form: MultipartForm = [
        .text("TOKEN", .secret("specimen-token")),
        .text("BUSINESSNO", "20260117-0042"),
        .image("FILE", path: "front.jpg", fileName: "IDFrontImage.jpg", .maxBytes(.kibibytes(100))),
    ]
    let response = try await UploadSession.shared.upload(form, to: "http://127.0.0.1:8080/upload")
    print(response.text)
    // end
}

private func second() async throws {
    // snippet: tutorial, second step
    let form: MultipartForm = [
        .text("TOKEN", .secret("specimen-token")),
        .text("BUSINESSNO", "20260117-0042"),
        .image("FILE", path: "front.jpg", fileName: "IDFrontImage.jpg", .maxBytes(.kibibytes(100))),
    ]
    do {
        let response = try await UploadSession.shared.upload(form, to: "http://127.0.0.1:8080/upload") { progress in
            print(progress.phase, progress.acknowledged, "of", progress.total ?? 0)
        }
        print(response.text)
    } catch {
        print(error)
        print("the backend may have it:", error.outcome == .unknown)
    }
    // end
}

private func third() async throws {
    // snippet: tutorial, third step
    var configuration = Outbox.Configuration()
    configuration.credentials = CredentialTable { name in name == "backend" ? .secret("specimen-token") : nil }
    let outbox = try await Outbox(at: "outbox", configuration: configuration)

    let form: MultipartForm = [
        .credential("TOKEN", named: "backend"),
        .text("BUSINESSNO", "20260117-0042"),
        .image("FILE", path: "front.jpg", fileName: "IDFrontImage.jpg", .maxBytes(.kibibytes(100))),
    ]
    let receipt = try await outbox.enqueue(form, to: "http://127.0.0.1:8080/upload")
    print("item", receipt.id, "is on the disk")

    try await outbox.runUntilIdle()
    // end
}
