import Dispatch

/// The entry point of libFuzzer. The input determines the structure and contents of a form.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzForm(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: size))
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        if let violation = await formViolation(of: input) { fatalError(violation) }
        done.signal()
    }
    done.wait()
    return 0
}
