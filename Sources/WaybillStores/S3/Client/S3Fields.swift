import HTTPTypes

extension HTTPField.Name {
    static let s3RequestID = Self("x-amz-request-id")!
    static let s3BucketRegion = Self("x-amz-bucket-region")!
}
