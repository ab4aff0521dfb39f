public import FoundationEssentials
public import Waybill
public import WaybillCore

/// A client that uploads objects to Qiniu: small ones as a form, large ones in resumable parts.
///
/// ```swift
/// let client = QiniuClient(tokens: .provider { request in
///     try QiniuUploadToken(.secret(await backend.token(for: request.key)))
/// })
/// let object = try await client.upload(.file(path: "front.jpg"), to: "cards/7/front.jpg")
/// print(object.key ?? "", object.hash ?? "")
/// ```
///
/// All requests are sent by the session and therefore use its slots, events and log. The session's header fields,
/// common fields, interceptors and cookies are not applied to them.
///
/// Integrity checks: the store verifies the CRC-32 of a form and the MD5 of a part, and the client verifies the hash in
/// the store's response.
public final class QiniuClient: Sendable {
    /// The configuration of a client.
    public struct Configuration: Sendable {
        // MARK: Hosts

        /// The upload hosts. By default, Qiniu is queried for them.
        public var hosts = QiniuHosts.queriedFromQiniu
        /// Whether hosts without a scheme are connected to with TLS. `true` by default: an eavesdropper could use the
        /// token.
        public var usesTLS = true

        /// The host that is queried for stored objects: ``QiniuPutOptions/skipsSame``. A host is a name, a name with a
        /// port, or a URL without a path.
        public var resourceHost = "rs.qiniuapi.com"

        /// The domain from which objects are read, such as `https://img.example.com`, for the URLs in results; `nil`
        /// for no URLs.
        public var publicDomain: String?

        // MARK: Uploads

        /// The size above which files and bytes are uploaded in parts. 4 MiB, the `putThreshold` of Qiniu's SDKs.
        public var formThreshold: ByteCount = .mebibytes(4)
        /// The part size, 1 MiB to 1 GiB. It is increased if the object would need more than 10,000 parts. The default
        /// of 4 MiB allows the hash of the object to be verified.
        public var partSize: ByteCount = .mebibytes(4)
        /// The maximum number of concurrent parts of an object, at least 1. 3 by default.
        public var maximumConcurrentParts = 3
        /// The number of retries at one host before the next host is tried. 1 by default, the `retryMax` of Qiniu's
        /// SDKs.
        public var retriesPerHost = 1
        /// The upper bound of the first random retry delay; it doubles with each retry. 0.5 s, the `retryInterval` of
        /// Qiniu's SDKs.
        public var retryInterval: Duration = .milliseconds(500)
        /// The number of delayed retries after responses that report too many requests (571, 573). 5 by default.
        public var maximumThrottleRetries = 5
        /// Whether the hash in the store's response is verified where possible. `true` by default.
        public var checksHash = true
        /// The directory of the records of multipart uploads; `nil` to keep no records, so that no upload can be
        /// resumed.
        public var records = RecordDirectory.standard
        /// The limits, proxy and TLS settings of each transfer. Certificate verification can't be disabled here.
        public var transfer = TransferOptions()

        // MARK: Time

        /// Returns the present date.
        public var now: @Sendable () -> Date = { .now }
        /// The clock that measures delays.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// Creates a configuration with the defaults.
        public init() {}

        func checkTrust() throws(StoreError) {
            guard transfer.tls.insecureSkipVerification else { return }
            throw StoreError(
                .encryptionRequired,
                "Tokens are not sent to a store whose certificate is not verified. \(Remedy.trustAuthorityOfStore)")
        }
    }

    /// The configuration of the client.
    public let configuration: Configuration
    let tokens: QiniuTokens
    let session: UploadSession
    let throttle: QiniuThrottle
    let regionCache: QiniuRegionCache?
    let clock: StoreClock

    /// Creates a client that sends with a session, by default with ``/Waybill/UploadSession/shared``.
    public init(
        tokens: QiniuTokens, configuration: Configuration = Configuration(), session: UploadSession = .shared
    ) {
        self.tokens = tokens
        self.configuration = configuration
        self.session = session
        throttle = QiniuThrottle(clock: configuration.clock)
        clock = StoreClock(now: configuration.now)
        guard case .queried(let query) = configuration.hosts else {
            regionCache = nil
            return
        }
        regionCache = QiniuRegionCache(
            query, scheme: configuration.usesTLS ? "https" : "http", options: Self.options(configuration, .regions),
            session: session, now: configuration.now)
    }

    /// Creates a client with other tokens that shares the region cache and the request pace of another client.
    init(tokens: QiniuTokens, sharing other: QiniuClient) {
        self.tokens = tokens
        configuration = other.configuration
        session = other.session
        throttle = other.throttle
        regionCache = other.regionCache
        clock = other.clock
    }

    /// The offset of the store's clock from the local clock in seconds, as learned from a response that a token had
    /// expired; positive if it is ahead.
    public var clockCorrection: Double { clock.correction }

    /// Uploads an object and waits for the response.
    ///
    /// - Parameters:
    ///   - source: The content to upload.
    ///   - key: The object key, less than 750 bytes of UTF-8. `nil` lets the store choose: the policy's `saveKey`, or
    ///     else the hash. The empty string is a valid key.
    ///   - options: The options of the object.
    ///   - onProgress: Called with progress snapshots of the whole object.
    /// - Returns: The stored object.
    /// - Throws: ``StoreError``.
    public func upload(
        _ source: QiniuSource, to key: String?, options: QiniuPutOptions = QiniuPutOptions(),
        onProgress: (@Sendable (ObjectProgress) -> Void)? = nil
    ) async throws(StoreError) -> QiniuObject {
        let upload = startUpload(source, to: key, options: options)
        if let onProgress { upload.onProgress(onProgress) }
        return try await upload.value
    }

    /// Starts uploading an object and immediately returns the handle.
    @discardableResult
    public func startUpload(
        _ source: QiniuSource, to key: String?, options: QiniuPutOptions = QiniuPutOptions()
    ) -> ObjectUpload<QiniuObject> {
        startUpload(source, to: key, options: options, group: nil)
    }

    /// Starts uploading an object, with all requests in a group of the session, and immediately returns the handle.
    func startUpload(
        _ source: QiniuSource, to key: String?, options: QiniuPutOptions, group: String?
    ) -> ObjectUpload<QiniuObject> {
        ObjectUpload(group: group) { [self] run throws(StoreError) in
            try await QiniuPut(client: self, source: source, key: key, options: options, run: run).perform()
        }
    }

    /// Discards a stopped multipart upload: its parts at the store, and its local record.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - key: The object key of the upload.
    /// - Returns: Whether such an upload existed.
    /// - Throws: ``StoreError``, with ``StoreError/Code/recordInUse`` while the upload is running.
    @discardableResult
    public func discardUpload(of path: String, to key: String?) async throws(StoreError) -> Bool {
        try configuration.checkTrust()
        let put = QiniuPut(
            client: self, source: .file(path: path), key: key, options: QiniuPutOptions(), run: ObjectRun())
        let payload = try await QiniuPayload(put.source)
        let channel = try await QiniuChannel(
            client: self, run: put.run, key: key, size: payload.size, options: put.options)
        return try await QiniuPartsUpload(put: put, payload: payload, channel: channel).discard()
    }

    /// Returns the options of a request.
    static func options(_ configuration: Configuration, _ operation: QiniuRetry.Operation) -> UploadOptions {
        var options = UploadOptions(
            transfer: configuration.transfer,
            retry: RetryPolicy(
                maxRetries: max(0, configuration.retriesPerHost), baseDelay: configuration.retryInterval,
                maxDelay: .seconds(30), statuses: QiniuRetry.transient, retriesLostResponses: false))
        options.excludedDefaults = [.headers, .commonFields, .interceptors, .cookies]
        // The token is part of a form's body: a redirect would disclose it to another host.
        options.redirects = .returned
        return options
    }
}

/// The options of an object at Qiniu.
public struct QiniuPutOptions: Sendable {
    /// The variables for `returnBody` and callbacks: `x:name`, or `name` without the prefix.
    public var variables: [String: String] = [:]
    /// The metadata of the object: `x-qn-meta-name`, or `name` without the prefix.
    public var metadata: [String: String] = [:]
    /// Additional form fields, such as `cacheControl` or `contentDisposition`. Uploads in parts do not support them.
    public var formFields: [String: String] = [:]
    /// The priority of the requests relative to others of the session.
    public var priority = UploadPriority.normal
    /// The tags by which the requests can be found: ``/Waybill/UploadSession/uploads(taggedWith:)``.
    public var tags: Set<String> = []
    /// The group of the requests in the session.
    public var group: String?
    /// Whether the object is not sent if the store has one with the same size and hash. This costs one request for each
    /// object to ``QiniuClient/Configuration/resourceHost``, and needs tokens of ``QiniuTokens/keys(_:bucket:lifetime:)``;
    /// the content is read once more if the sizes agree.
    ///
    /// An object in parts of another size than 4 MiB has another hash than its bytes, and is replaced.
    public var skipsSame = false

    /// Creates empty options.
    public init() {}

    /// Returns the form fields other than token, key, checksum and file, sorted.
    ///
    /// - Throws: ``StoreError`` with ``StoreError/Code/invalidArgument`` for a name that can't be sent or is reserved.
    func namedFields() throws(StoreError) -> [(name: String, value: String)] {
        let reserved: Set<String> = ["token", "key", "file", "crc32"]
        for name in formFields.keys where reserved.contains(name) {
            throw StoreError(.invalidArgument, "The form field \(name) is reserved.")
        }
        return try Self.named(variables, "x:") + Self.named(metadata, "x-qn-meta-")
            + formFields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Returns the values with Qiniu's prefix added to their names, sorted.
    ///
    /// - Throws: ``StoreError`` with ``StoreError/Code/invalidArgument`` for a name that can't be sent.
    static func named(
        _ values: [String: String], _ prefix: String
    ) throws(StoreError) -> [(name: String, value: String)] {
        var result: [(name: String, value: String)] = []
        for (name, value) in values {
            let bare = name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name
            guard !bare.isEmpty, bare.utf8.allSatisfy({ (33...126).contains($0) }) else {
                throw StoreError(
                    .invalidArgument,
                    "The name \(prefix)\(StoreError.shown(bare)) is invalid. Use letters, digits, hyphens and "
                        + "underscores.")
            }
            result.append((prefix + bare, value))
        }
        return result.sorted { $0.name < $1.name }
    }
}
