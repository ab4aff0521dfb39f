internal import CTestSupport

/// The features of the kernel that runs the tests.
package enum Kernel {
    /// Whether the kernel reports which pages of a file are cached (`cachestat(2)`, Linux 6.5).
    package static let hasCachestat = cts_has_cachestat() != 0
}
