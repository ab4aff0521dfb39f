public import FoundationEssentials

extension ObjectClient {
    /// Prepares the object of a file with a recipe, uploads it, and waits for the stored object.
    ///
    /// ```swift
    /// let front = try await client.upload(.idCardFront, file: "IMG_0042.jpg", parameters: ["businessNo": number])
    /// print(front.url)          // https://img.example.com/idcards/20240117001/front-0f8fad5b….jpg
    /// ```
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
        options: Options = Options(), date: FoundationEssentials.Date? = nil
    ) async throws(StoreError) -> Stored {
        try await startUpload(
            recipe, file: path, parameters: parameters, in: bucket, options: options, date: date
        ).value
    }

    /// Starts preparing and uploading the object of a file, and immediately returns the handle.
    @discardableResult
    public func startUpload(
        _ recipe: UploadRecipe, file path: String, parameters: [String: String] = [:], in bucket: String? = nil,
        options: Options = Options(), date: FoundationEssentials.Date? = nil
    ) -> ObjectUpload<Stored> {
        ObjectUpload { [store = operations.store] run throws(StoreError) in
            let object = try await recipe.prepare(
                file: path, parameters: parameters, date: date ?? store.configuration.now())
            return try await store.store(object, in: bucket, options, run)
        }
    }

    /// Starts uploading an object that was prepared earlier, and immediately returns the handle.
    @discardableResult
    public func startUpload(
        _ object: PreparedObject, in bucket: String? = nil, options: Options = Options()
    ) -> ObjectUpload<Stored> {
        ObjectUpload { [store = operations.store] run throws(StoreError) in
            try await store.store(object, in: bucket, options, run)
        }
    }
}
