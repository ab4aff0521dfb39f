import Dispatch
import WaybillJPEG

/// The entry point of libFuzzer. Any input yields an image within the limit or a typed error. The first byte selects
/// the options, raw pixels as input, whether originals are kept or salvaged on failure, and whether the checksums of a
/// PNG file are corrected. Images are small, so that more are tested.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzImage(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: size))
    guard let choice = input.first else { return 0 }
    let limit = 4_000
    let options = options(choice, limit)
    let source = source(choice, Array(input.dropFirst()))
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        do throws(JPEGError) {
            let result = try await JPEGRecompressor(options).recompress(source)
            if options.maxBytes != nil { precondition(result.bytes.count <= limit, "The image is over the limit.") }
            precondition(result.report.bytes == result.bytes.count, "The report has the wrong size.")
            precondition(
                result.report.failure == nil || options.onFailure == .sendOriginal,
                "The original was kept without the option.")
            check(result)
        } catch {
            precondition(!error.message.isEmpty, "The error has no message.")
        }
        done.signal()
    }
    done.wait()
    return 0
}

/// The inputs of the last runs. The leak checker runs between two runs, when tasks of the last ones may still retain
/// their input, and it does not recognize pointers with an enum tag in the upper bits. This array holds plain pointers.
nonisolated(unsafe) private var recentInputs: [[UInt8]] = Array(repeating: [], count: 256)
nonisolated(unsafe) private var nextIndex = 0

private func retain(_ bytes: [UInt8]) {
    unsafe recentInputs[unsafe nextIndex] = bytes
    unsafe nextIndex = (nextIndex + 1) % 256
}

private func options(_ choice: UInt8, _ limit: Int) -> JPEGOptions {
    let maxBytes = ByteCount.bytes(Int64(limit))
    var options =
        switch choice % 4 {
        case 0: JPEGOptions(maxBytes: maxBytes, maxPixels: 10_000, mode: .draft)
        case 1: JPEGOptions(maxBytes: maxBytes, maxPixels: 10_000, mode: choice & 8 == 0 ? .fast : .best)
        case 2: JPEGOptions(quality: 50, maxPixels: 10_000, mode: .draft)
        default: JPEGOptions()
        }
    options.isDocument = choice & 16 != 0
    if choice & 32 != 0 { options.onFailure = choice & 8 == 0 ? .sendOriginal : .salvage }
    return options
}

/// Returns the input. If bit 64 is set, the next three bytes are width, height and format of raw pixels.
private func source(_ choice: UInt8, _ bytes: [UInt8]) -> JPEGInput {
    retain(bytes)
    if choice & 128 != 0 {
        let corrected = withChecksums(bytes)
        retain(corrected)
        return .bytes(corrected)
    }
    guard choice & 64 != 0, bytes.count > 3 else { return .bytes(bytes) }
    let formats = JPEGPixels.Format.allCases
    let format = formats[Int(bytes[2]) % formats.count]
    let samples = Array(bytes.dropFirst(3))
    retain(samples)
    return .pixels(JPEGPixels(width: Int(bytes[0]), height: Int(bytes[1]), format: format, bytes: samples))
}

/// Corrects the checksums of the chunks of a PNG file; with wrong ones, its decoder would see almost no changed byte.
private func withChecksums(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    func word(_ at: Int) -> Int { bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
    var position = 8
    while position + 12 <= bytes.count, word(position) <= bytes.count - position - 12 {
        let end = position + 8 + word(position)
        let checksum = ~bytes[position + 4..<end].reduce(UInt32.max) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum >> 1 ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        for index in 0..<4 { bytes[end + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(24 - 8 * index)) }
        position = end + 4
    }
    return bytes
}

/// Checks that an image agrees with its report and has no metadata.
private func check(_ result: JPEGResult) {
    guard let header = try? JPEGHeader(parsing: result.bytes) else { preconditionFailure("The image has no header.") }
    precondition(header.uprightSize == (result.report.width, result.report.height), "The size differs from the report.")
    let allowed: Set<String> = result.report.failure == nil ? ["JFIF"] : ["JFIF", "Adobe", "Exif"]
    precondition(header.segments.allSatisfy { allowed.contains($0.name) }, "The image has metadata.")
    precondition(result.report.failure != nil || header.orientation == 1, "The image is not upright.")
}
