public import FoundationEssentials
import WaybillMultipart

extension AliyunOSSClient {
    /// Makes the object of a file as its kind has it, stores it, and waits.
    ///
    /// ```swift
    /// let front = try await client.upload(.idCardFront, file: "IMG_0042.jpg", parameters: ["businessNo": number])
    /// print(front.url)          // https://img.example.com/idcards/20240117001/front-0f8fad5b….jpg
    /// ```
    ///
    /// - Parameters:
    ///   - recipe: The kind.
    ///   - path: The file.
    ///   - parameters: The values of the key's parameters.
    ///   - bucket: The bucket; `nil` for the client's.
    ///   - options: What else is said of the object; its type and its metadata go before the recipe's.
    ///   - date: The moment that dates in the key are of; `nil` for now.
    /// - Returns: The object, with its URL.
    /// - Throws: ``StoreError``; a picture that can't be made has the picture's own code, and nothing was sent.
    @discardableResult
    public func upload(
        _ recipe: UploadRecipe, file path: String, parameters: [String: String] = [:], in bucket: String? = nil,
        options: OSSObjectOptions = OSSObjectOptions(), date: FoundationEssentials.Date? = nil
    ) async throws(StoreError) -> OSSStoredObject {
        try await startUpload(
            recipe, file: path, parameters: parameters, in: bucket, options: options, date: date
        ).value
    }

    /// Starts to make and store the object of a file, and returns the handle at once.
    @discardableResult
    public func startUpload(
        _ recipe: UploadRecipe, file path: String, parameters: [String: String] = [:], in bucket: String? = nil,
        options: OSSObjectOptions = OSSObjectOptions(), date: FoundationEssentials.Date? = nil
    ) -> ObjectUpload<OSSStoredObject> {
        ObjectUpload { run throws(StoreError) in
            let object = try await recipe.prepare(
                file: path, parameters: parameters, date: date ?? self.configuration.now())
            return try await self.store(object, in: self.bucket(bucket), options, run)
        }
    }

    /// Starts to store an object that was prepared earlier, and returns the handle at once.
    @discardableResult
    public func startUpload(
        _ object: PreparedObject, in bucket: String? = nil, options: OSSObjectOptions = OSSObjectOptions()
    ) -> ObjectUpload<OSSStoredObject> {
        ObjectUpload { run throws(StoreError) in
            try await self.store(object, in: self.bucket(bucket), options, run)
        }
    }

    private func store(
        _ object: PreparedObject, in bucket: String, _ options: OSSObjectOptions, _ run: ObjectRun
    ) async throws(StoreError) -> OSSStoredObject {
        var options = options
        options.contentType = options.contentType ?? object.contentType
        options.metadata.merge(object.metadata) { own, _ in own }
        switch object.source {
        case .bytes(let bytes): return try await put(DataBody(bytes), to: object.key, in: bucket, options, run)
        case .file(let path):
            return try await OSSFileUpload(
                client: self, path: path, bucket: bucket, key: object.key, options: options,
                multipart: OSSMultipartOptions()
            ).go(run)
        }
    }
}
