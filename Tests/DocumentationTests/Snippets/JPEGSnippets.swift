// The sample of the page of WaybillJPEG, compiled with no other import.
import WaybillJPEG

private func compressed() async throws {
    // snippet: page of the images
    let recompressor = JPEGRecompressor(.maxBytes(.kibibytes(100)))
    let report = try await recompressor.recompress(.file("front.jpg"), to: "front-small.jpg")
    print(report.width, report.height, report.bytes)
    // end
}
