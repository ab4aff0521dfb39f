import WaybillJPEG

/// The entry point of libFuzzer. Any input yields a header with values that the format allows, or a typed error. Bytes
/// after the header do not change it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMarkers(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: size))
    do throws(JPEGError) {
        let header = try JPEGHeader(parsing: bytes)
        precondition(
            (0...65_535).contains(header.width) && (0...65_535).contains(header.height), "The size is out of range.")
        precondition((1...8).contains(header.orientation), "The orientation is out of range.")
        precondition((0...bytes.count).contains(header.scanOffset), "The scan is outside the file.")
        precondition(
            header.segments.reduce(0) { $0 + $1.byteCount } <= bytes.count, "The metadata is larger than the file.")
        precondition(
            header.profileName?.utf8.allSatisfy { (0x20...0x7E).contains($0) } ?? true,
            "The profile name has unprintable characters.")
        let again = try? JPEGHeader(parsing: Array(bytes[..<header.scanOffset]) + [0xFF, 0xD9])
        precondition(again == header, "Bytes after the header changed it.")
    } catch {
        precondition(!error.message.isEmpty, "The error has no message.")
        precondition(
            [.empty, .notAJPEG, .truncated, .corrupt].contains(error.code), "The error has an unexpected code: \(error)"
        )
    }
    return 0
}
