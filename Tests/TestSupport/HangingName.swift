internal import CTestSupport

/// A host name whose look-up by libcurl, in this program, hangs until it is released.
///
/// ```swift
/// let name = HangingName()
/// let task = Task { await upload(to: "http://\(name.host):80/") }
/// await name.waitUntilLookedUp()
/// task.cancel()                                    // has to work while the resolver hangs
/// ```
///
/// Released with the value, so that no thread hangs past its test.
package final class HangingName: Sendable {
    package let host: String

    /// - Parameter isFound: Whether the look-up ends in 127.0.0.1 once it is released, in place of a failure.
    package init(isFound: Bool = false) {
        host = "w\(String(UInt64.random(in: .min ... .max), radix: 16)).\(isFound ? "late" : "never").invalid"
    }

    deinit { release() }

    /// Waits until a look-up has begun (so many of them, in all).
    package func waitUntilLookedUp(_ count: Int = 1) async {
        let host = host
        await onOwnThread { unsafe cts_await_lookups(host, Int32(count)) }
    }

    /// Lets all look-ups end: with 127.0.0.1, or as if the resolver had given up (`EAI_AGAIN`).
    package func release() { unsafe cts_release_name(host) }
}

/// Host names that answer without a network, for libcurl in this program.
package enum TestHost {
    /// A new name of 127.0.0.1, for tests that need several hosts.
    package static func loopback(_ label: String = "a") -> String { "\(label).loopback.invalid" }
    /// A name that does not exist.
    package static func absent(_ label: String = "a") -> String { "\(label).absent.invalid" }
    /// How often a name was looked up in this program.
    package static func lookups(of host: String) -> Int { unsafe Int(cts_lookups_begun(host)) }
}
