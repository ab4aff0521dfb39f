// The program of the first upload and the steps of the tutorial, compiled here. TidyTests run them.
import Glibc
import Waybill
import WaybillOutbox

private func first() async {
    // snippet: tutorial, first step
    let form: MultipartForm = [
        .text("TOKEN", .secret("specimen-token")),
        .text("BUSINESSNO", "20260117-0042"),
        .image("FILE", path: "front.jpg", fileName: "IDFrontImage.jpg", .maxBytes(.kibibytes(100))),
    ]
    do {
        let response = try await UploadSession.shared.upload(form, to: "http://127.0.0.1:8080/upload")
        print(response.status, response.text)
    } catch {
        print(error)
        exit(1)
    }
    // end
}

private func second() async {
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
        print(response.status, response.text)
    } catch {
        print(error)
        print("the backend may have it:", error.outcome == .unknown)
        exit(1)
    }
    // end
}

private func third() async {
    // snippet: tutorial, third step
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
    // end
}

private func fourth() async {
    // snippet: tutorial, last step
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
    // end
}
