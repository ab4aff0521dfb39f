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
/// OSS accepts at most 5 GB in a single request. ``ObjectClient`` documents the methods for uploads.
///
/// The client can be used from any thread. Uploads continue after the client is released.
public final class AliyunOSSClient: ObjectClient {
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
        self.session = configuration.session(session, "Waybill-OSS")
        caller = StoreCaller(
            service: OSSService(endpoint: configuration.endpoint, signer: signer, rules: configuration.rules),
            session: self.session, clock: clock ?? StoreClock(now: configuration.now), options: configuration.options)
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
}
