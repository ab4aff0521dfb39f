internal import Glibc

/// How much slower than elsewhere everything is here, for the few tests that hold code to a time: `WAYBILL_SLOWNESS`, which
/// the runs under sanitizers set; 1 otherwise.
package enum Slowness {
    /// What a limit in time is multiplied by.
    package static let factor: Int = {
        let given = unsafe getenv("WAYBILL_SLOWNESS").flatMap { unsafe Int(String(cString: $0)) }
        return max(1, given ?? 1)
    }()
}
