internal import CTestSupport

/// A host name whose lookup by libcurl in this process hangs until it is released.
///
/// ```swift
/// let name = HangingHostName()
/// let task = Task { await upload(to: "http://\(name.host):80/") }
/// await name.waitUntilLookupBegins()
/// task.cancel()                                    // has to work while the resolver hangs
/// ```
///
/// The name is released with the value, so that no thread outlives its test.
package final class HangingHostName: Sendable {
    package let host: String

    /// - Parameter isFound: Whether the lookup returns 127.0.0.1 after the release instead of failing.
    package init(isFound: Bool = false) {
        host = "w\(String(UInt64.random(in: .min ... .max), radix: 16)).\(isFound ? "late" : "never").invalid"
    }

    deinit { release() }

    /// Waits until the given total number of lookups has begun.
    package func waitUntilLookupBegins(_ count: Int = 1) async {
        let host = host
        await onOwnThread { unsafe cts_await_lookups(host, Int32(count)) }
    }

    /// Ends all lookups: with 127.0.0.1, or as if the resolver had given up (`EAI_AGAIN`).
    package func release() { unsafe cts_release_name(host) }
}

/// Host names that libcurl in this process resolves without a network.
package enum TestHost {
    /// Returns a name of 127.0.0.1, for tests that need several hosts.
    package static func loopback(_ label: String = "a") -> String { "\(label).loopback.invalid" }
    /// Returns a name that does not exist.
    package static func absent(_ label: String = "a") -> String { "\(label).absent.invalid" }
    /// Returns how often a name was looked up in this process.
    package static func lookups(of host: String) -> Int { unsafe Int(cts_lookups_begun(host)) }
}
