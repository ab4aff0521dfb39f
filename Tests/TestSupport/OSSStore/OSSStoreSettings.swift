internal import Glibc

/// An account of an ``OSSStore``.
package struct OSSAccount: Sendable, Hashable {
    package var id: String
    package var secret: String
    /// The security token of temporary keys.
    package var token: String?
    /// The expiration of temporary keys, in seconds since 1970 by the clock of the store.
    package var expiration: Int?

    package init(_ id: String, _ secret: String, token: String? = nil, expiration: Int? = nil) {
        self.id = id
        self.secret = secret
        self.token = token
        self.expiration = expiration
    }
}

/// The settings of an ``OSSStore``.
package struct OSSStoreSettings: Sendable {
    /// The protocol.
    package var dialect = StoreDialect.oss
    /// The regions of buckets that are not in `region`; only for the protocol of S3.
    package var bucketRegions: [String: String] = [:]
    /// Whether conditions of writes are checked; only for the protocol of S3.
    package var checksConditions = true
    /// The accounts that may send requests.
    package var accounts = [OSSAccount("ak", "sk")]
    /// The region in signatures of version 4.
    package var region = "cn-hangzhou"
    /// Hosts of the service, without port: the path of a request to them begins with the bucket, and `bucket.host` is
    /// the bucket's own host. Names under `loopback.invalid` resolve to the store in programs that link
    /// `CTestSupport`, those under `localhost` in programs that use libcurl.
    package var serviceHosts: Set<String> = [
        "127.0.0.1", "localhost", "oss.localhost", "oss.loopback.invalid", "oss.test",
    ]
    /// Hosts of a single bucket (CNAME), without port.
    package var ownHosts: [String: String] = [
        "cdn.loopback.invalid": "examplebucket", "cdn.localhost": "examplebucket",
    ]
    /// The prefix of paths before bucket or key, as behind a proxy: `/oss`. Signatures do not cover it.
    package var pathPrefix = ""
    /// The buckets; `nil` for every valid name.
    package var buckets: Set<String>?
    /// The minimum size of a part other than the last.
    package var smallestPart = 102_400
    /// The maximum number of parts in a response to ListParts.
    package var largestPage = 1_000
    /// The maximum size of bodies that are kept; larger ones are reduced to their digests.
    package var keepsBodiesUpTo = 4 << 20
    /// The response of the callback server.
    package var callbackResponse = #"{"Status":"OK"}"#
    /// The true time in seconds since 1970.
    package var now: @Sendable () -> Int = { time(nil) }

    package init() {}
}

/// A time in the formats of OSS, from seconds since 1970.
enum StoreDate {
    /// `Wed, 28 Dec 2022 10:27:41 GMT`
    static func http(_ seconds: Int) -> String { formatted(seconds, "%a, %d %b %Y %H:%M:%S GMT") }

    /// `20221228T102741Z`
    static func compact(_ seconds: Int) -> String { formatted(seconds, "%Y%m%dT%H%M%SZ") }

    /// `2022-12-28T10:27:41.000Z`
    static func iso(_ seconds: Int) -> String { formatted(seconds, "%Y-%m-%dT%H:%M:%S.000Z") }

    static func fromHTTP(_ text: String) -> Int? {
        let words = text.split(separator: " ").map(String.init)
        guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: words[2]) else { return nil }
        let time = words[4].split(separator: ":").compactMap { Int($0) }
        guard let day = Int(words[1]), let year = Int(words[3]), time.count == 3 else { return nil }
        return seconds(year, month + 1, day, time[0], time[1], time[2])
    }

    static func fromCompact(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
        func number(_ range: Range<Int>) -> Int { Int(bytes[range].text) ?? -1 }
        return seconds(
            number(0..<4), number(4..<6), number(6..<8), number(9..<11), number(11..<13), number(13..<15))
    }

    /// Parses a time with or without a fraction of a second.
    static func fromISO(_ text: String) -> Int? {
        guard text.last == "Z" else { return nil }
        let halves = text.dropLast().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 1 || halves[1].allSatisfy(\.isNumber) else { return nil }
        return fromCompact(halves[0].filter { $0 != "-" && $0 != ":" } + "Z")
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func seconds(_ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int)
        -> Int?
    {
        guard year >= 1970, (1...12).contains(month), (1...31).contains(day), (0..<24).contains(hour),
            (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        var parts = unsafe tm()
        unsafe parts.tm_year = Int32(year - 1_900)
        unsafe parts.tm_mon = Int32(month - 1)
        unsafe parts.tm_mday = Int32(day)
        unsafe parts.tm_hour = Int32(hour)
        unsafe parts.tm_min = Int32(minute)
        unsafe parts.tm_sec = Int32(second)
        return unsafe timegm(&parts)
    }

    private static func formatted(_ seconds: Int, _ format: String) -> String {
        var parts = unsafe tm()
        var time = time_t(seconds)
        unsafe _ = gmtime_r(&time, &parts)
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            count = unsafe strftime(
                UnsafeMutableRawPointer(buffer.baseAddress!).assumingMemoryBound(to: CChar.self), 64, format, &parts)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
