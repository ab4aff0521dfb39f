import Dispatch
import WaybillJPEG

/// Any bytes give a picture within the limit or a typed error. The first byte chooses what is asked for, also of plain
/// pixels and of originals that are kept; pictures are kept small, so that time goes into many of them.
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
            if options.maxBytes != nil { precondition(result.bytes.count <= limit, "over the limit") }
            precondition(result.report.bytes == result.bytes.count, "the report is wrong")
            precondition(result.report.failure == nil || options.onFailure == .sendOriginal, "an original unasked for")
            check(result)
        } catch {
            precondition(!error.message.isEmpty, "an error without a message")
        }
        done.signal()
    }
    done.wait()
    return 0
}

/// The leak checker looks between two runs, when the tasks of the last ones may not be quite gone, and it can't see through the
/// tag that an enum keeps in the upper bits of a pointer. So the bytes of the last runs are held here, plainly.
nonisolated(unsafe) private var held: [[UInt8]] = Array(repeating: [], count: 256)
nonisolated(unsafe) private var place = 0

private func hold(_ bytes: [UInt8]) {
    unsafe held[unsafe place] = bytes
    unsafe place = (place + 1) % 256
}

private func options(_ choice: UInt8, _ limit: Int) -> JPEGOptions {
    let most = ByteCount.bytes(Int64(limit))
    var options =
        switch choice % 4 {
        case 0: JPEGOptions(maxBytes: most, maxPixels: 10_000, mode: .draft)
        case 1: JPEGOptions(maxBytes: most, maxPixels: 10_000, mode: choice & 8 == 0 ? .fast : .best)
        case 2: JPEGOptions(quality: 50, maxPixels: 10_000, mode: .draft)
        default: JPEGOptions()
        }
    options.isDocument = choice & 16 != 0
    if choice & 32 != 0 { options.onFailure = .sendOriginal }
    return options
}

/// With 64 set, the next three bytes are width, height and format of plain pixels.
private func source(_ choice: UInt8, _ bytes: [UInt8]) -> JPEGInput {
    hold(bytes)
    guard choice & 64 != 0, bytes.count > 3 else { return .bytes(bytes) }
    let formats = JPEGPixels.Format.allCases
    let format = formats[Int(bytes[2]) % formats.count]
    let samples = Array(bytes.dropFirst(3))
    hold(samples)
    return .pixels(JPEGPixels(width: Int(bytes[0]), height: Int(bytes[1]), format: format, bytes: samples))
}

/// What comes out says of itself what the report says, and carries no metadata.
private func check(_ result: JPEGResult) {
    guard let header = try? JPEGHeader(parsing: result.bytes) else { preconditionFailure("no header in what came out") }
    precondition(header.uprightSize == (result.report.width, result.report.height), "another size than reported")
    let allowed: Set<String> = result.report.failure == nil ? ["JFIF"] : ["JFIF", "Adobe", "Exif"]
    precondition(header.segments.allSatisfy { allowed.contains($0.name) }, "metadata got through")
    precondition(result.report.failure != nil || header.orientation == 1, "not upright")
}
