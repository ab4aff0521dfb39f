extension StoreError.Code {
    /// A bucket's name breaks the store's rules.
    public static let invalidBucket = Self("invalidBucket")
    /// A key breaks the store's rules.
    public static let invalidKey = Self("invalidKey")
    /// The region is missing, or is no region's id.
    public static let invalidRegion = Self("invalidRegion")
    /// A presigned URL or a policy would be valid for too long, or not at all.
    public static let invalidExpiration = Self("invalidExpiration")
    /// A policy can't be written as it is: no condition, a name that is empty, a range the wrong way round.
    public static let invalidPolicy = Self("invalidPolicy")
    /// There are no credentials; the message says what to set, the cause is the error of whoever should have them.
    public static let credentialsUnavailable = Self("credentialsUnavailable")
    /// The credentials ran out, and there are no others.
    public static let credentialsExpired = Self("credentialsExpired")
    /// The store refused the credentials, and there are no others.
    public static let credentialsRejected = Self("credentialsRejected")
    /// Whoever should give credentials took too long.
    public static let credentialsTimedOut = Self("credentialsTimedOut")
    /// What came are no credentials: no JSON, names that are missing, an expiration that can't be meant.
    public static let credentialsMalformed = Self("credentialsMalformed")
    /// There is no signature; the message says why, the cause is the error of whoever should have made it.
    public static let signingFailed = Self("signingFailed")
    /// A URL or form that a server signed is no longer good: ask the server for another.
    public static let presignedExpired = Self("presignedExpired")
    /// What a server gave is no presigned URL, or are no fields of a form.
    public static let presignedMalformed = Self("presignedMalformed")
}
