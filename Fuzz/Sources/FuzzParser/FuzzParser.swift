import Dispatch

/// The entry point of libFuzzer. The input is a body with the boundary `B`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzParser(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let body = Array(UnsafeBufferPointer(start: start, count: size))
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        if let violation = await violation(of: body, boundary: "B") { fatalError(violation) }
        done.signal()
    }
    done.wait()
    return 0
}
