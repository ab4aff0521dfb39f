public import FoundationEssentials

extension S3Client {
    /// Prepares the object of a file with a recipe, uploads it, and waits for the stored object.
    ///
    /// - Parameters:
    ///   - recipe: The recipe.
    ///   - path: The path of the file.
    ///   - parameters: The values of the parameters of the key.
    ///   - bucket: The bucket, or `nil` for the bucket of the client's configuration.
    ///   - options: More options of the object. Its content type and metadata take precedence over those of the recipe.
    ///   - date: The date for the key; `nil` for the present date.
    /// - Returns: The stored object with its URL.
    /// - Throws: ``StoreError``. If the image can't be compressed, it has the code of the image error, and nothing is
    ///   sent.
    @discardableResult
    public func upload(
        _ recipe: UploadRecipe, file path: String, parameters: [String: String] = [:], in bucket: String? = nil,
        options: S3ObjectOptions = S3ObjectOptions(), date: FoundationEssentials.Date? = nil
    ) async throws(StoreError) -> S3StoredObject {
        try await startUpload(
            recipe, file: path, parameters: parameters, in: bucket, options: options, date: date
        ).value
    }

    /// Starts preparing and uploading the object of a file, and immediately returns the handle.
    @discardableResult
    public func startUpload(
        _ recipe: UploadRecipe, file path: String, parameters: [String: String] = [:], in bucket: String? = nil,
        options: S3ObjectOptions = S3ObjectOptions(), date: FoundationEssentials.Date? = nil
    ) -> ObjectUpload<S3StoredObject> {
        ObjectUpload { run throws(StoreError) in
            try await self.store(recipe, file: path, parameters, in: bucket, options, date, run)
        }
    }

    /// Starts uploading an object that was prepared earlier, and immediately returns the handle.
    @discardableResult
    public func startUpload(
        _ object: PreparedObject, in bucket: String? = nil, options: S3ObjectOptions = S3ObjectOptions()
    ) -> ObjectUpload<S3StoredObject> {
        ObjectUpload { run throws(StoreError) in try await self.store(object, in: bucket, options, run) }
    }
}
