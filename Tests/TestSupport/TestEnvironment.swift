internal import CTestSupport
internal import Glibc

/// The location of the project on the machine that built the tests.
package enum ProjectRoot {
    /// The directory of `Package.swift`.
    package static let path: String = {
        let parts = #filePath.split(separator: "/")
        return "/" + parts.dropLast(3).joined(separator: "/")
    }()

    /// Returns the path of a file of the project.
    package static func file(_ relativePath: String) -> String { "\(path)/\(relativePath)" }

    /// The directory of the programs that were built with the tests.
    package static let products: String = {
        let parts = CommandLine.arguments[0].split(separator: "/", omittingEmptySubsequences: false)
        return parts.dropLast().joined(separator: "/")
    }()
}

/// The features of the kernel that runs the tests.
package enum Kernel {
    /// Whether the kernel reports which pages of a file are cached (`cachestat(2)`, Linux 6.5).
    package static let hasCachestat = cts_has_cachestat() != 0
}

/// How much slower this environment is, for the few tests with time limits: `WAYBILL_SLOWNESS`, which runs with
/// sanitizers set; otherwise 1.
package enum Slowness {
    /// The factor for time limits.
    package static let factor: Int = {
        let given = unsafe getenv("WAYBILL_SLOWNESS").flatMap { unsafe Int(String(cString: $0)) }
        return max(1, given ?? 1)
    }()
}
