import Foundation
import Waybill
import WaybillStores

/// The app: it has the URLs of its token server and of the store, and no key.
public struct App: Sendable {
    private let session: UploadSession
    private let client: AliyunOSSClient

    /// Creates an app that uploads photos to a bucket.
    ///
    /// - Parameters:
    ///   - tokens: The URL of the token server.
    ///   - endpoint: The endpoint of the store.
    ///   - bucket: The bucket.
    /// - Throws: `StoreError` for an invalid endpoint or bucket.
    public init(tokens: String, endpoint: String, bucket: String) throws(StoreError) {
        session = UploadSession()
        var configuration = AliyunOSSClient.Configuration(endpoint: try OSSEndpoint(endpoint), bucket: bucket)
        configuration.region = "cn-hangzhou"
        // The local store has no TLS. Omit this line for a real endpoint.
        configuration.allowsUnencrypted = true
        // Fetches keys on first use, caches them, and fetches again before they expire.
        let credentials: CredentialProvider = .tokenServer(tokens, through: session)
        client = try AliyunOSSClient(configuration: configuration, credentials: credentials)
    }

    /// Uploads a photo, compressed to at most 100 KiB. The orientation is kept; location, time and other metadata are
    /// removed.
    public func upload(photo path: String, to key: String) async throws(StoreError) -> OSSStoredObject {
        try await client.post(.image("file", path: path, .maxBytes(.kibibytes(100))), to: key)
    }

    /// Compresses a photo by a recipe and uploads it with the key of the recipe.
    public func upload(
        _ recipe: UploadRecipe, photo path: String, parameters: [String: String]
    ) async throws(StoreError) -> OSSStoredObject {
        try await client.upload(recipe, file: path, parameters: parameters)
    }

    /// Uploads a file unchanged.
    public func upload(file path: String, to key: String) async throws(StoreError) -> OSSStoredObject {
        try await client.put(.file(path: path), to: key)
    }

    /// Closes the connections.
    public func close() async { await session.close() }
}
