import Waybill

private func oneCard() async throws {
    // snippet: image under a limit
    let recompressor = JPEGRecompressor(.maxBytes(.kibibytes(100)))
    let card = try await recompressor.recompress(file: "front.jpg")
    print(card.report.width, card.report.height, card.bytes.count)  // never more than 102,400 bytes
    // end
}

private func smallestSize() {
    // snippet: smallest size of an image
    let legible = JPEGOptions(maxBytes: .kibibytes(100), minSide: 1_000)
    // end
    print(legible)
}

private func keptFormat(form: inout MultipartForm) {
    // snippet: image part that keeps its format
    let screenshot = JPEGOptions(maxBytes: .kibibytes(500), keepsFormat: true)
    form.append(.image("FILE", path: "screenshot.png", screenshot))
    // end
}

private func reported(form: inout MultipartForm) {
    // snippet: report of an image in a form
    form.append(
        .image("FILE", path: "front.jpg", .maxBytes(.kibibytes(100))) { report in
            print("front.jpg: \(report.originalBytes) → \(report.bytes) bytes, \(report.width) × \(report.height)")
        })
    // end
}

private func otherWays(frame: [UInt8]) async throws {
    // snippet: image options
    let page = JPEGOptions(maxBytes: .kibibytes(200), maxSide: 3_000, isDocument: true, onFailure: .sendOriginal)
    let report = try await JPEGRecompressor(page).recompress(.file("page.jpg"), to: "page-small.jpg")
    if let reason = report.failure { print("kept the original:", reason) }

    let pixels = JPEGPixels(width: 640, height: 480, format: .rgb, bytes: frame)
    let still = try await JPEGRecompressor(.quality(80, mode: .fast)).recompress(.pixels(pixels))
    // end
    print(still)
}

private func heic() -> MultipartPart {
    // snippet: HEIC
    let options = JPEGOptions(maxBytes: .kibibytes(100), heicDecoder: .heifConvert)
    let front = MultipartPart.image("front", path: "front.heic", options)
    // end
    return front
}
