import Foundation
import TestSupport
import Testing

/// The dependencies that a client of this package fetches.
@Suite(.timeLimit(.minutes(3 * Slowness.factor))) struct PackageResolutionTests {
    @Test(arguments: [
        ("Waybill", "[]", ["swift-http-types", "swift-log"]),
        ("WaybillStores", "[\"Stores\"]", ["swift-asn1", "swift-crypto", "swift-http-types", "swift-log"]),
        ("WaybillOutbox", "[\"Outbox\"]", ["grdb.swift", "swift-http-types", "swift-log"]),
        ("WaybillPostgres", "[\"Shared\"]", ["grdb.swift", "swift-http-types", "swift-log"]),
    ])
    func `a package resolves only the dependencies of the products it uses`(
        _ product: String, _ traits: String, _ expected: [String]
    ) async throws {
        let folder = try TemporaryDirectory()
        let client = try ClientPackage(
            at: folder.path("client"), manifest: ClientPackage.manifest(product: product, traits: traits))
        #expect(try await client.resolved() == expected)
    }
}
