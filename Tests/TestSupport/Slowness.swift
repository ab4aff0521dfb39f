internal import Glibc

/// How much slower this environment is, for the few tests with time limits: `WAYBILL_SLOWNESS`, which runs with
/// sanitizers set; otherwise 1.
package enum Slowness {
    /// The factor for time limits.
    package static let factor: Int = {
        let given = unsafe getenv("WAYBILL_SLOWNESS").flatMap { unsafe Int(String(cString: $0)) }
        return max(1, given ?? 1)
    }()
}
