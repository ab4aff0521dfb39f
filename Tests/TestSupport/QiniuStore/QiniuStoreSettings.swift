internal import Glibc

/// What a ``QiniuStore`` is and knows.
package struct QiniuStoreSettings: Sendable {
    /// Secret keys by access keys.
    package var accounts = ["ak": "sk"]
    /// The buckets; `nil` for every name.
    package var buckets: Set<String>?
    /// How many names of the hosts that take uploads the service of regions answers with, a list for each region; `nil` for
    /// one region with the store's own hosts. `{0}` stands for the first of those.
    package var regions: [[String]]?
    /// How long that is good, in seconds.
    package var regionLifetime = 86_400
    /// The least size of a part that is not the last one.
    package var smallestPart = 1 << 20
    /// The most parts in one answer to a list.
    package var largestPage = 1_000
    /// For how long an upload in parts is kept, in seconds.
    package var uploadLifetime = 7 * 86_400
    /// Bodies up to this size are kept, of larger ones only the digests.
    package var keepsBodiesUpTo = 64 << 10
    /// What the callback server says to a callback.
    package var callbackAnswer = #"{"success":true}"#
    /// The time, in seconds since 1970.
    package var now: @Sendable () -> Int = { time(nil) }

    package init() {}
}
