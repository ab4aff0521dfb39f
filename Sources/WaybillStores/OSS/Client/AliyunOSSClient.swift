import FoundationEssentials
import HTTPTypes
public import Waybill
import WaybillCore

/// A client that uploads objects to Aliyun OSS, signs every request, and determines the outcome of each.
///
/// ```swift
/// let client = try AliyunOSSClient(
///     configuration: .init(endpoint: .region("cn-hangzhou"), bucket: "scans"), credentials: .environment())
/// let stored = try await client.put(.file(path: "card.jpg"), to: "2026/7/card.jpg")
/// print(stored.url)
///
/// let upload = client.startUpload(file: "film.mov", to: "films/7.mov")     // in parts, resumed if it was begun before
/// for await progress in upload.progress { bar.show(progress.fraction) }
/// ```
///
/// Guarantees:
///
/// - Every attempt has its own date and signature. A wrong local clock is corrected once, by the store's; the corrected
///   date also decides whether credentials have expired.
/// - The CRC-64 that the store reports is compared with that of the bytes sent: for every put, every part and the whole
///   object.
/// - A request without a response is not repeated before the store is queried: an object whose response was lost is
///   found, and a part that the store lists is not sent again.
/// - An object that is stored although its callback failed is never sent again:
///   ``StoreError/Code/storedButCallbackFailed``.
///
/// The client can be used from any thread. Uploads continue after the client is released.
public final class AliyunOSSClient: Sendable {
    /// The configuration of the client.
    public let configuration: Configuration
    /// The session that sends the client's requests.
    public let session: UploadSession
    let caller: StoreCaller
    private let credentials: CredentialProvider?

    /// Creates a client that signs with credentials.
    ///
    /// - Parameters:
    ///   - configuration: The endpoint, the bucket and the behavior of the client.
    ///   - credentials: The provider of the credentials that sign requests.
    ///   - session: The session that sends requests, or `nil` to create a session for this client.
    /// - Throws: ``StoreError/Code/encryptionRequired`` for an endpoint without TLS, or TLS without verification;
    ///   ``StoreError/Code/invalidRegion``, ``StoreError/Code/invalidBucket``, ``StoreError/Code/invalidArgument``.
    public convenience init(
        configuration: Configuration, credentials: CredentialProvider, session: UploadSession? = nil
    ) throws(StoreError) {
        try self.init(
            configuration: configuration, signer: OSSCredentialSigner(credentials), credentials: credentials,
            session: session)
    }

    /// Creates a client with a custom signer, such as ``OSSRemoteSigner``. The client cannot sign forms, so
    /// ``post(_:to:form:in:options:)`` needs a form that was signed elsewhere.
    ///
    /// - Throws: The errors of ``init(configuration:credentials:session:)``.
    public convenience init(
        configuration: Configuration, signer: any ObjectStoreSigner, session: UploadSession? = nil
    ) throws(StoreError) {
        try self.init(configuration: configuration, signer: signer, credentials: nil, session: session)
    }

    /// Creates a client that shares the correction of the clock with other clients.
    convenience init(
        configuration: Configuration, credentials: CredentialProvider, session: UploadSession, clock: StoreClock
    ) throws(StoreError) {
        try self.init(
            configuration: configuration, signer: OSSCredentialSigner(credentials), credentials: credentials,
            session: session, clock: clock)
    }

    private init(
        configuration: Configuration, signer: any ObjectStoreSigner, credentials: CredentialProvider?,
        session: UploadSession?, clock: StoreClock? = nil
    ) throws(StoreError) {
        try configuration.check()
        self.configuration = configuration
        self.credentials = credentials
        self.session =
            session
            ?? UploadSession.forStore(
                "Waybill-OSS", maximumConcurrentRequests: configuration.maximumConcurrentRequests)
        caller = StoreCaller(
            service: OSSService(endpoint: configuration.endpoint, signer: signer, rules: configuration.rules),
            session: self.session, clock: clock ?? StoreClock(now: configuration.now), options: configuration.options)
    }

    /// The offset of the store's clock from the local clock in seconds, as learned from responses; positive if it is
    /// ahead.
    public var clockCorrection: Double { caller.clock.correction }

    /// Makes a call. See ``StoreCaller/make(_:_:at:checks:existing:lookUp:)``.
    func make(
        _ call: StoreCall, _ run: ObjectRun, at url: String? = nil,
        checks: StoreCaller.Checks = { _ throws(StoreError) in }, existing: String? = nil,
        lookUp: (@Sendable () async -> StoreCaller.LookupResult)? = nil
    ) async throws(StoreError) -> StoreCaller.CallResult {
        try await caller.make(call, run, at: url, checks: checks, existing: existing, lookUp: lookUp)
    }

    /// Returns the credentials for signing a form.
    func formCredentials(
        at date: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> StoreCredentials {
        guard let credentials else {
            throw StoreError(
                .credentialsUnavailable, "The client has a signer but no credentials. Pass a signed form.")
        }
        return try await credentials.credentials(at: date, rejecting: rejecting)
    }

    /// Returns the bucket of a call: the named one, or that of the configuration.
    func bucket(_ named: String?) throws(StoreError) -> String {
        guard let bucket = named ?? configuration.bucket else {
            throw StoreError(.invalidBucket, "No bucket is specified. Specify one, or set one in the configuration.")
        }
        return bucket
    }
}

extension AliyunOSSClient {
    /// Returns the metadata of an object.
    ///
    /// - Throws: ``StoreError``; its status is 404 when the object does not exist.
    public func head(_ key: String, in bucket: String? = nil) async throws(StoreError) -> OSSObjectInfo {
        try await ObjectUpload { run throws(StoreError) in
            let call = StoreCall(.head, bucket: try self.bucket(bucket), key: key)
            return OSSObjectInfo(try await self.make(call, run).response)
        }.value
    }

    /// Deletes an object. OSS reports success for an object that does not exist.
    ///
    /// - Throws: ``StoreError``.
    public func delete(_ key: String, in bucket: String? = nil) async throws(StoreError) {
        try await ObjectUpload { run throws(StoreError) in
            var call = StoreCall(.delete, bucket: try self.bucket(bucket), key: key)
            call.isIdempotent = true
            _ = try await self.make(call, run)
        }.value
    }
}
