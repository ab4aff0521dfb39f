public import FoundationEssentials

extension QiniuClient {
    /// Makes the object of a file as its kind has it, stores it, and waits.
    ///
    /// ```swift
    /// let front = try await client.upload(.idCardFront, file: "IMG_0042.jpg", parameters: ["businessNo": number])
    /// ```
    ///
    /// - Parameters:
    ///   - recipe: The kind.
    ///   - path: The file.
    ///   - parameters: The values of the key's parameters.
    ///   - options: What else goes with the object; its metadata go before the recipe's.
    ///   - date: The moment that dates in the key are of; `nil` for now.
    /// - Returns: What the store has made of it.
    /// - Throws: ``StoreError``; a picture that can't be made has the picture's own code, and nothing was sent.
    @discardableResult
    public func upload(
        _ recipe: UploadRecipe, file path: String, parameters: [String: String] = [:],
        options: QiniuPutOptions = QiniuPutOptions(), date: FoundationEssentials.Date? = nil
    ) async throws(StoreError) -> QiniuObject {
        try await startUpload(recipe, file: path, parameters: parameters, options: options, date: date).value
    }

    /// Starts to make and store the object of a file, and returns the handle at once.
    @discardableResult
    public func startUpload(
        _ recipe: UploadRecipe, file path: String, parameters: [String: String] = [:],
        options: QiniuPutOptions = QiniuPutOptions(), date: FoundationEssentials.Date? = nil
    ) -> ObjectUpload<QiniuObject> {
        ObjectUpload { [self] run throws(StoreError) in
            let object = try await recipe.prepare(
                file: path, parameters: parameters, date: date ?? configuration.now())
            return try await put(object, options, run).perform()
        }
    }

    /// Starts to store an object that was prepared earlier, and returns the handle at once.
    @discardableResult
    public func startUpload(
        _ object: PreparedObject, options: QiniuPutOptions = QiniuPutOptions()
    ) -> ObjectUpload<QiniuObject> {
        ObjectUpload { [self] run throws(StoreError) in try await put(object, options, run).perform() }
    }

    private func put(_ object: PreparedObject, _ options: QiniuPutOptions, _ run: ObjectRun) -> QiniuPut {
        var options = options
        options.metadata.merge(object.metadata) { own, _ in own }
        let name = object.key.split(separator: "/").last.map(String.init) ?? object.key
        let source: QiniuSource =
            switch object.source {
            case .bytes(let bytes): .data(bytes, fileName: name, contentType: object.contentType)
            case .file(let path): .file(path: path, fileName: name, contentType: object.contentType)
            }
        return QiniuPut(client: self, source: source, key: object.key, options: options, run: run)
    }
}
