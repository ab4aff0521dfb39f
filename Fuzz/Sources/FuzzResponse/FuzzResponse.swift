/// The entry point of libFuzzer. The input is a byte that selects the options, the distances between cuts, and a response
/// (``ResponseFuzzInput``).
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzResponse(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let input = ResponseFuzzInput(Array(UnsafeBufferPointer(start: start, count: size)))
    if let violation = violation(of: input.response, cutAt: input.cuts, input.options) { fatalError(violation) }
    return 0
}
