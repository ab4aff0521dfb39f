internal import CTestSupport

/// What the kernel that the tests run on can do.
package enum Kernel {
    /// Whether it can say what of a file is in memory (`cachestat(2)`, Linux 6.5).
    package static let knowsWhatIsCached = cts_has_cachestat() != 0
}
