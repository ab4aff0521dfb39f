import WaybillJPEG

/// Any bytes give a header whose figures lie within the format's, or a typed error; and bytes behind the header don't
/// change what it says.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMarkers(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: size))
    do throws(JPEGError) {
        let header = try JPEGHeader(parsing: bytes)
        precondition((0...65_535).contains(header.width) && (0...65_535).contains(header.height), "an impossible size")
        precondition((1...8).contains(header.orientation), "an impossible orientation")
        precondition((0...bytes.count).contains(header.scanOffset), "a scan outside the file")
        precondition(header.segments.reduce(0) { $0 + $1.byteCount } <= bytes.count, "more metadata than bytes")
        precondition(header.profileName?.utf8.allSatisfy { (0x20...0x7E).contains($0) } ?? true, "a name to hide in")
        let again = try? JPEGHeader(parsing: Array(bytes[..<header.scanOffset]) + [0xFF, 0xD9])
        precondition(again == header, "bytes behind the header changed it")
    } catch {
        precondition(!error.message.isEmpty, "an error without a message")
        precondition(
            [.empty, .notAJPEG, .truncated, .corrupt].contains(error.code), "an error of another kind: \(error)")
    }
    return 0
}
