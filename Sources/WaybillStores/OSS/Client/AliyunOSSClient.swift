import FoundationEssentials
import HTTPTypes
public import Waybill
import WaybillCore

/// Puts objects into Aliyun OSS, signs every request, and finds out what became of each.
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
/// What it holds to:
///
/// - Every attempt has a date and a signature of its own. A wrong clock is corrected by the store's, once, and the corrected
///   date also says whether credentials have run out.
/// - What the store has is compared with what was sent: the CRC-64 of every put, of every part and of the whole.
/// - A request that got no answer is not made again before a look at the store: an object whose answer was lost is found, and a
///   part that the store lists is not sent again.
/// - An object that is stored though its callback failed is never sent again: ``StoreError/Code/storedButCallbackFailed``.
///
/// It may be used from any thread. Uploads go on when the client is let go.
public final class AliyunOSSClient: Sendable {
    /// How it works.
    public let configuration: Configuration
    /// The session that sends its requests.
    public let session: UploadSession
    private let caller: OSSCaller
    private let credentials: (any CredentialProvider)?

    /// A client that signs with credentials.
    ///
    /// - Parameters:
    ///   - configuration: Where and how.
    ///   - credentials: Whose signature.
    ///   - session: Who sends; `nil` for a session of the client's own.
    /// - Throws: ``StoreError/Code/encryptionRequired`` for an endpoint without TLS, or TLS without verification;
    ///   ``StoreError/Code/invalidRegion``, ``StoreError/Code/invalidBucket``, ``StoreError/Code/invalidArgument``.
    public convenience init(
        configuration: Configuration, credentials: any CredentialProvider, session: UploadSession? = nil
    ) throws(StoreError) {
        try self.init(
            configuration: configuration, signer: OSSCredentialSigner(credentials), credentials: credentials,
            session: session)
    }

    /// A client whose signatures come from somebody else: ``OSSRemoteSigner``, or a signer of your own. It can't sign forms,
    /// so ``post(_:to:form:in:options:)`` needs one that was signed elsewhere.
    ///
    /// - Throws: As with credentials.
    public convenience init(
        configuration: Configuration, signer: any ObjectStoreSigner, session: UploadSession? = nil
    ) throws(StoreError) {
        try self.init(configuration: configuration, signer: signer, credentials: nil, session: session)
    }

    /// A client that shares what others have learnt about the store's clock.
    convenience init(
        configuration: Configuration, credentials: any CredentialProvider, session: UploadSession, clock: StoreClock
    ) throws(StoreError) {
        try self.init(
            configuration: configuration, signer: OSSCredentialSigner(credentials), credentials: credentials,
            session: session, clock: clock)
    }

    private init(
        configuration: Configuration, signer: any ObjectStoreSigner, credentials: (any CredentialProvider)?,
        session: UploadSession?, clock: StoreClock? = nil
    ) throws(StoreError) {
        try configuration.check()
        self.configuration = configuration
        self.credentials = credentials
        self.session = session ?? Self.ownSession(configuration)
        caller = OSSCaller(
            endpoint: configuration.endpoint, session: self.session, signer: signer, rules: configuration.rules,
            clock: clock ?? StoreClock(now: configuration.now), options: configuration.options)
    }

    /// How far the store's clock is ahead of this machine's, in seconds, as far as answers have told.
    public var clockCorrection: Double { caller.clock.correction }

    private static func ownSession(_ configuration: Configuration) -> UploadSession {
        var settings = UploadSession.Configuration()
        settings.slots = configuration.requestsAtOnce
        settings.slotsPerHost = configuration.requestsAtOnce
        settings.userAgent = "Waybill-OSS"
        return UploadSession(configuration: settings)
    }

    /// Makes a call. See ``OSSCaller/make(_:_:at:checks:lookUp:)``.
    func make(
        _ call: OSSCall, _ run: ObjectRun, at url: String? = nil,
        checks: OSSCaller.Checks = { _ throws(StoreError) in },
        lookUp: (@Sendable () async -> OSSCaller.Finding)? = nil
    ) async throws(StoreError) -> OSSCaller.Answer {
        try await caller.make(call, run, at: url, checks: checks, lookUp: lookUp)
    }

    /// Returns the credentials that sign a form.
    func formCredentials(
        at date: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> StoreCredentials {
        guard let credentials else {
            throw StoreError(
                .credentialsUnavailable, "this client has a signer and no credentials: hand in a form that was signed")
        }
        return try await credentials.credentials(at: date, rejecting: rejecting)
    }

    /// The bucket of a call.
    func bucket(_ named: String?) throws(StoreError) -> String {
        guard let bucket = named ?? configuration.bucket else {
            throw StoreError(.invalidBucket, "no bucket was named: give one to the call or to the configuration")
        }
        return bucket
    }
}

extension AliyunOSSClient {
    /// Asks about an object.
    ///
    /// - Throws: ``StoreError``; its status is 404 when the object does not exist.
    public func head(_ key: String, in bucket: String? = nil) async throws(StoreError) -> OSSObjectInfo {
        try await ObjectUpload { run throws(StoreError) in
            let call = OSSCall(.head, bucket: try self.bucket(bucket), key: key)
            return OSSObjectInfo(try await self.make(call, run).response)
        }.value
    }

    /// Deletes an object. One that is not there is no error to OSS.
    ///
    /// - Throws: ``StoreError``.
    public func delete(_ key: String, in bucket: String? = nil) async throws(StoreError) {
        try await ObjectUpload { run throws(StoreError) in
            var call = OSSCall(.delete, bucket: try self.bucket(bucket), key: key)
            call.isIdempotent = true
            _ = try await self.make(call, run)
        }.value
    }
}
