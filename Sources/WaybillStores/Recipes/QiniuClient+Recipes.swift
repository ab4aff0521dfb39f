import WaybillCore
public import FoundationEssentials

extension QiniuClient {
    /// Prepares an object from a file according to a recipe, uploads it, and returns the stored object.
    ///
    /// ```swift
    /// let front = try await client.upload(.idCardFront, file: "IMG_0042.jpg", parameters: ["businessNo": number])
    /// ```
    ///
    /// - Parameters:
    ///   - recipe: The recipe.
    ///   - path: The path of the file.
    ///   - parameters: The values of the parameters in the key template.
    ///   - options: Additional options. Their metadata takes precedence over the metadata of the recipe.
    ///   - date: The date in the key; `nil` for the current date.
    /// - Returns: The stored object.
    /// - Throws: ``StoreError``. If the image can't be compressed, it has the code of the image error, and nothing is
    ///   sent.
    @discardableResult
    public func upload(
        _ recipe: UploadRecipe, file path: String, parameters: [String: String] = [:],
        options: QiniuPutOptions = QiniuPutOptions(), date: FoundationEssentials.Date? = nil
    ) async throws(StoreError) -> QiniuObject {
        try await startUpload(recipe, file: path, parameters: parameters, options: options, date: date).value
    }

    /// Starts preparing and uploading an object from a file, and immediately returns a handle.
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

    /// Starts uploading a prepared object, and immediately returns a handle.
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
