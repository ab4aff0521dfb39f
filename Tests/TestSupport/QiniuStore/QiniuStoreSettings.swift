internal import Glibc

/// The settings of a ``QiniuStore``.
package struct QiniuStoreSettings: Sendable {
    /// Secret keys by access key.
    package var accounts = ["ak": "sk"]
    /// The buckets; `nil` for every name.
    package var buckets: Set<String>?
    /// The host names of uploads that the region service returns, a list for each region; `nil` for one region with
    /// the store's own hosts. `{0}` is replaced by the first of those.
    package var regions: [[String]]?
    /// How long the response of the region service is valid, in seconds.
    package var regionLifetime = 86_400
    /// The minimum size of a part other than the last.
    package var smallestPart = 1 << 20
    /// The maximum number of parts in a response to a list request.
    package var largestPage = 1_000
    /// How long an upload in parts is kept, in seconds.
    package var uploadLifetime = 7 * 86_400
    /// The maximum size of bodies that are kept; larger ones are reduced to their digests.
    package var keepsBodiesUpTo = 64 << 10
    /// The response of the callback server.
    package var callbackAnswer = #"{"success":true}"#
    /// The time in seconds since 1970.
    package var now: @Sendable () -> Int = { time(nil) }

    package init() {}
}
