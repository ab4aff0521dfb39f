public import FoundationEssentials
public import Waybill
public import WaybillCore

/// Uploads to Qiniu: small ones as a form, large ones in parts that can be resumed.
///
/// ```swift
/// let client = QiniuClient(tokens: .provider { request in
///     try QiniuUploadToken(.secret(await backend.token(for: request.key)))
/// })
/// let object = try await client.upload(.file(path: "front.jpg"), to: "cards/7/front.jpg")
/// print(object.key ?? "", object.hash ?? "")
/// ```
///
/// Every request is one of the session's: its slots, its events and its log are theirs too. Header fields, common fields,
/// interceptors and cookies of the session stay out of them.
///
/// What is compared: the CRC-32 of a form by the store, the MD5 of a part by the store, and the hash that the store answers by
/// us.
public final class QiniuClient: Sendable {
    /// How a client goes about its uploads.
    public struct Configuration: Sendable {
        // Where.

        /// Where uploads go. Asked of Qiniu unless told.
        public var hosts = QiniuHosts.askedOfQiniu
        /// Whether hosts without a scheme are spoken to by TLS. `true`: a token that is overheard is a token that is lost.
        public var usesTLS = true

        /// Where objects are read from, such as `https://img.example.com`, for the URLs in results; `nil` for results without.
        public var publicDomain: String?

        // How.

        /// Files and bytes above this size go in parts. 4 MiB, as `putThreshold` of Qiniu's own packages.
        public var formThreshold: ByteCount = .mebibytes(4)
        /// The size of a part, 1 MiB to 1 GiB; it grows where there would be more than 10,000. 4 MiB, with which the hash of
        /// the object can be compared.
        public var partSize: ByteCount = .mebibytes(4)
        /// How many parts of an object go at once, 1 or more. 3.
        public var partsAtOnce = 3
        /// How often a request is tried again at a host before the next host has its turn. 1, as `retryMax`.
        public var retriesPerHost = 1
        /// The upper end of the first random wait before that; it doubles. 0.5 s, as `retryInterval`.
        public var retryInterval: Duration = .milliseconds(500)
        /// How often a request waits and is tried again when the store says that it is asked too much (571, 573). 5.
        public var patience = 5
        /// Whether the hash that the store answers is compared with ours, where it can be. `true`.
        public var checksHash = true
        /// Where the records of uploads in parts lie; `nil` for none, so that nothing can be resumed.
        public var records = RecordFolder.standard
        /// Limits of each transfer: the most that stalls, proxy, TLS. Verification of certificates can't be turned off here.
        public var transfer = TransferOptions()

        // What else.

        /// The time.
        public var now: @Sendable () -> Date = { .now }
        /// What waits are measured with.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// The defaults.
        public init() {}

        func checkTrust() throws(StoreError) {
            guard transfer.tls.insecureSkipVerification else { return }
            throw StoreError(
                .encryptionRequired,
                "Tokens are not sent to a store whose certificate is not verified. \(Remedy.trustAuthorityOfStore)")
        }
    }

    /// How this client goes about its uploads.
    public let configuration: Configuration
    let tokens: QiniuTokens
    let session: UploadSession
    let pace: QiniuPace
    let desk: QiniuRegionDesk?

    /// A client that sends with a session's slots; with those of ``/Waybill/UploadSession/shared`` unless told.
    public init(
        tokens: QiniuTokens, configuration: Configuration = Configuration(), session: UploadSession = .shared
    ) {
        self.tokens = tokens
        self.configuration = configuration
        self.session = session
        pace = QiniuPace(clock: configuration.clock)
        guard case .asked(let query) = configuration.hosts else {
            desk = nil
            return
        }
        desk = QiniuRegionDesk(
            query, scheme: configuration.usesTLS ? "https" : "http", options: Self.options(configuration, .regions),
            session: session, now: configuration.now)
    }

    /// A client with other tokens that shares what another one has learnt: where buckets are, and how fast it may ask.
    init(tokens: QiniuTokens, sharing other: QiniuClient) {
        self.tokens = tokens
        configuration = other.configuration
        session = other.session
        pace = other.pace
        desk = other.desk
    }

    /// Uploads an object and waits for the answer.
    ///
    /// - Parameters:
    ///   - source: What is uploaded.
    ///   - key: The key, fewer than 750 bytes of UTF-8. `nil` lets the store choose: `saveKey` of the policy, else the hash.
    ///     The empty key is a key.
    ///   - options: What goes with the object.
    ///   - onProgress: Called with snapshots over the whole object.
    /// - Returns: What the store has made of it.
    /// - Throws: ``StoreError``.
    public func upload(
        _ source: QiniuSource, to key: String?, options: QiniuPutOptions = QiniuPutOptions(),
        onProgress: (@Sendable (ObjectProgress) -> Void)? = nil
    ) async throws(StoreError) -> QiniuObject {
        let upload = startUpload(source, to: key, options: options)
        if let onProgress { upload.onProgress(onProgress) }
        return try await upload.value
    }

    /// Starts uploading an object and returns the handle at once.
    @discardableResult
    public func startUpload(
        _ source: QiniuSource, to key: String?, options: QiniuPutOptions = QiniuPutOptions()
    ) -> ObjectUpload<QiniuObject> {
        startUpload(source, to: key, options: options, group: nil)
    }

    /// Starts uploading an object, with all requests in a group of the session, and returns the handle at once.
    func startUpload(
        _ source: QiniuSource, to key: String?, options: QiniuPutOptions, group: String?
    ) -> ObjectUpload<QiniuObject> {
        ObjectUpload(group: group) { [self] run throws(StoreError) in
            try await QiniuPut(client: self, source: source, key: key, options: options, run: run).perform()
        }
    }

    /// Throws away what an upload in parts has left when it was stopped: its parts in the store, and its record.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - key: The key that it was to have.
    /// - Returns: Whether there was anything.
    /// - Throws: ``StoreError``; ``StoreError/Code/recordInUse`` while the upload is at work.
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

    /// The options of a request.
    static func options(_ configuration: Configuration, _ operation: QiniuRetry.Operation) -> UploadOptions {
        var options = UploadOptions(
            transfer: configuration.transfer,
            retry: RetryPolicy(
                maxRetries: max(0, configuration.retriesPerHost), baseDelay: configuration.retryInterval,
                maxDelay: .seconds(30), statuses: QiniuRetry.again, retriesLostResponses: false))
        options.omits = [.headers, .commonFields, .interceptors, .cookies]
        // The token of a form goes with its body: whoever is not to be trusted would get it by a redirect.
        options.redirects = .returned
        return options
    }
}

/// What goes with an object to Qiniu.
public struct QiniuPutOptions: Sendable {
    /// Variables for `returnBody` and callbacks: `x:name` or just `name`.
    public var variables: [String: String] = [:]
    /// Metadata of the object: `x-qn-meta-name` or just `name`.
    public var metadata: [String: String] = [:]
    /// Other fields of the form, such as `cacheControl` or `contentDisposition`. Uploads in parts have no place for them.
    public var formFields: [String: String] = [:]
    /// How urgent the requests are, beside others of the session.
    public var priority = UploadPriority.normal
    /// Names to find the requests by: ``/Waybill/UploadSession/uploads(taggedWith:)``.
    public var tags: Set<String> = []
    /// The group of the session that the requests belong to.
    public var group: String?

    /// Nothing.
    public init() {}

    /// The fields of a form beside token, key, checksum and file, sorted.
    ///
    /// - Throws: ``StoreError`` with ``StoreError/Code/invalidArgument`` for a name that can't be sent, or is not the caller's.
    func namedFields() throws(StoreError) -> [(name: String, value: String)] {
        let reserved: Set<String> = ["token", "key", "file", "crc32"]
        for name in formFields.keys where reserved.contains(name) {
            throw StoreError(.invalidArgument, "the form's field \(name) is not yours to set")
        }
        return try Self.named(variables, "x:") + Self.named(metadata, "x-qn-meta-")
            + formFields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Names with the prefix that Qiniu wants, sorted.
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
                    .invalidArgument, "\(prefix)\(StoreError.shown(bare)) can't be a name: use letters, digits, - and _"
                )
            }
            result.append((prefix + bare, value))
        }
        return result.sorted { $0.name < $1.name }
    }
}
