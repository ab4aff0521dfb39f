extension StoreError.Code {
    /// A put policy contradicts itself, or its deadline has passed; the message names the members.
    public static let invalidPutPolicy = Self("invalidPutPolicy")
    /// A text that is said to be an upload token is none.
    public static let invalidUploadToken = Self("invalidUploadToken")
    /// The upload token has expired, or would before the object is complete.
    public static let uploadTokenExpired = Self("uploadTokenExpired")
    /// The scope of the upload token is not for this key or bucket.
    public static let uploadTokenDoesNotCover = Self("uploadTokenDoesNotCover")
    /// The provider of upload tokens failed; the cause is its error.
    public static let uploadTokenUnavailable = Self("uploadTokenUnavailable")
    /// The object has more or fewer bytes than the upload token allows.
    public static let sizeNotAllowed = Self("sizeNotAllowed")
    /// It is not known where uploads to the bucket go: nobody who was asked gave hosts that are to be trusted.
    public static let regionUnknown = Self("regionUnknown")
    /// Something else is stored under the key, and it may not be overwritten (614).
    public static let objectExists = Self("objectExists")
}
