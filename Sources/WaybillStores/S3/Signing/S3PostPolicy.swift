public import FoundationEssentials
import WaybillCore

/// The constraints of a form that is posted to Amazon S3 or a compatible store.
///
/// ```swift
/// var policy = S3PostPolicy(expiration: .now.addingTimeInterval(600))
/// policy.conditions = [.bucket("cards"), .startsWith("key", "2026/\(clerk)/"), .contentLength(1...102_400)]
/// let form = try policy.form(
///     at: "https://cards.s3.eu-west-1.amazonaws.com/", region: "eu-west-1", credentials: credentials)
/// ```
public typealias S3PostPolicy = OSSPostPolicy

/// The signed fields of a form that can be posted to Amazon S3 or a compatible store.
public typealias S3PostForm = OSSPostForm

extension OSSPostPolicy {
    /// Signs the policy for a store of S3 (Signature Version 4), usually on a server on behalf of browsers and apps that
    /// upload. Conditions for the fields of the signature are added.
    ///
    /// - Parameters:
    ///   - url: The URL to which the form is posted: scheme, host and, if it is not in the host, the bucket.
    ///   - region: The region, such as `eu-west-1`, or the name that the store expects instead, such as `auto`.
    ///   - service: The service: `s3`.
    ///   - credentials: The credentials that sign.
    ///   - date: The date of the signature.
    /// - Returns: A form with everything that a client needs for the upload. It is valid for at most seven days.
    /// - Throws: ``StoreError/Code/invalidPolicy``, also for a condition that S3 does not have
    ///   (``Condition/oneOf(_:_:)``, ``Condition/noneOf(_:_:)``); ``StoreError/Code/invalidRegion`` or
    ///   ``StoreError/Code/invalidExpiration``.
    public func form(
        at url: String, region: String, service: String = "s3", credentials: StoreCredentials, date: Date = .now
    ) throws(StoreError) -> S3PostForm {
        try S3Name.checkRegion(region)
        for case .oneOf(let field, _) in conditions { throw Self.hasNoLists(field) }
        for case .noneOf(let field, _) in conditions { throw Self.hasNoLists(field) }
        let scope = S3SignatureV4.Scope(date: date, region: region, product: service)
        return try formV4(at: url, scope: scope, credentials: credentials)
    }

    private static func hasNoLists(_ field: String) -> StoreError {
        StoreError(
            .invalidPolicy,
            "S3 has no condition with several values, as for \(StoreError.shown(field)). Use one value or a prefix.")
    }
}
