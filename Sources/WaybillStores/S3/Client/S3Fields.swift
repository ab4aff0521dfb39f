import HTTPTypes

extension HTTPField.Name {
    static let s3RequestID = Self("x-amz-request-id")!
    static let s3BucketRegion = Self("x-amz-bucket-region")!
    static let s3VersionID = Self("x-amz-version-id")!
    static let s3StorageClass = Self("x-amz-storage-class")!
    static let s3ACL = Self("x-amz-acl")!
    static let s3Tagging = Self("x-amz-tagging")!
    static let s3Encryption = Self("x-amz-server-side-encryption")!
    static let s3EncryptionKeyID = Self("x-amz-server-side-encryption-aws-kms-key-id")!
    static let s3CustomerAlgorithm = Self("x-amz-server-side-encryption-customer-algorithm")!
    static let s3ChecksumAlgorithm = Self("x-amz-checksum-algorithm")!
    static let s3ChecksumType = Self("x-amz-checksum-type")!
    static let s3ChecksumMode = Self("x-amz-checksum-mode")!
}
