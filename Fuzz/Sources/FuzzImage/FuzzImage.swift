import Dispatch
import WaybillJPEG

/// Any bytes give a picture within the limit or a typed error. The first byte chooses what is asked for; pictures are
/// kept small, so that time goes into many of them.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzImage(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: size))
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    let limit = 4_000
    let options =
        switch choice % 4 {
        case 0: JPEGOptions(maxBytes: .bytes(Int64(limit)), maxPixels: 10_000, mode: .draft)
        case 1: JPEGOptions(maxBytes: .bytes(Int64(limit)), maxPixels: 10_000, mode: .fast)
        case 2: JPEGOptions(quality: 50, maxPixels: 10_000, mode: .draft)
        default: JPEGOptions()
        }
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        do throws(JPEGError) {
            let result = try await JPEGRecompressor(options).recompress(bytes)
            if options.maxBytes != nil { precondition(result.bytes.count <= limit, "over the limit") }
            precondition(result.report.bytes == result.bytes.count, "the report is wrong")
        } catch {
            precondition(!error.message.isEmpty, "an error without a message")
        }
        done.signal()
    }
    done.wait()
    return 0
}
