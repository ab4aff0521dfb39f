import Glibc
import Waybill

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
