import Foundation
import Waybill
import WaybillStores

/// The app: it knows where its token server is and where the store is, and no secret.
public struct App: Sendable {
    private let session: UploadSession
    private let client: AliyunOSSClient

    /// An app that puts pictures into a bucket.
    ///
    /// - Parameters:
    ///   - tokens: The URL of the token server.
    ///   - endpoint: The endpoint of the store.
    ///   - bucket: The bucket.
    /// - Throws: `StoreError` for an endpoint or a bucket that is none.
    public init(tokens: String, endpoint: String, bucket: String) throws(StoreError) {
        session = UploadSession()
        var configuration = AliyunOSSClient.Configuration(endpoint: try OSSEndpoint(endpoint), bucket: bucket)
        configuration.region = "cn-hangzhou"
        // This machine talks to itself. With a real endpoint leave it out: it is https.
        configuration.allowsUnencrypted = true
        // Asked when keys are needed, kept, and asked again before they run out.
        let credentials: CredentialProvider = .tokenServer(tokens, through: session)
        client = try AliyunOSSClient(configuration: configuration, credentials: credentials)
    }

    /// Puts a photo there, made to fit into 100 KiB on the way. Orientation stays right, and what the camera wrote about
    /// place and time is gone.
    public func upload(photo path: String, to key: String) async throws(StoreError) -> OSSStoredObject {
        try await client.post(.image("file", path: path, .maxBytes(.kibibytes(100))), to: key)
    }

    /// Makes an object by its recipe and stores it under the recipe's key.
    public func upload(
        _ recipe: UploadRecipe, photo path: String, parameters: [String: String]
    ) async throws(StoreError) -> OSSStoredObject {
        try await client.upload(recipe, file: path, parameters: parameters)
    }

    /// Puts a file there as it is.
    public func upload(file path: String, to key: String) async throws(StoreError) -> OSSStoredObject {
        try await client.put(.file(path: path), to: key)
    }

    /// Closes the connections.
    public func close() async { await session.close() }
}
