import FoundationEssentials
import HTTPTypes
import Testing
import Waybill
import WaybillCore
import WaybillMultipart

@testable import WaybillStores

/// All types of signing and credentials, printed in every way.
@Suite struct `Printing of store secrets` {
    private static let secrets = [
        "SECRETKEY", "SECRETTOKEN", "SECRETUPLOAD", "SECRETCALLBACK", "SECRETPOLICY", "SECRETSIGN",
    ]
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private static let credentials = StoreCredentials(
        accessKeyID: "SECRETID", accessKeySecret: .secret("SECRETKEY"), securityToken: .secret("SECRETTOKEN"),
        expiration: now.addingTimeInterval(60))

    private static func values() throws -> [Any] {
        let request = OSSRequestToSign(
            .put, bucket: "bucket", key: "key", query: [StoreQueryItem("uploadId", "SECRETUPLOAD")],
            headers: [.authorization: "SECRETSIGN"])
        var values: [Any] = [
            credentials, credentials.identity, CredentialProvider.fixed(credentials), request,
            StoreQueryItem("a", "SECRETSIGN"),
            OSSCredentialSigner(.fixed(credentials)), CredentialProvider.environment { _ in "SECRETKEY" },
        ]
        for version in OSSSignatureVersion.allCases {
            for placement in [OSSSigningRules.Placement.header, .query(validFor: .seconds(60))] {
                let material = try OSSSigningMaterial(
                    request, rules: OSSSigningRules(version, region: "cn-hangzhou", placement: placement),
                    identity: credentials.identity, date: now)
                let signature = material.signature(with: credentials.accessKeySecret)
                let signed = material.signed(with: signature)
                values += [material, signed]
                if case .query = placement { values.append(try OSSPresignedUpload(signed, at: "https://h/bucket/key")) }
            }
            var policy = OSSPostPolicy(expiration: now.addingTimeInterval(60))
            policy.conditions = [.exactly("callback", "public")]
            let form = try policy.form(
                at: "https://user:SECRETKEY@h/", rules: OSSSigningRules(version, region: "cn-hangzhou"),
                credentials: credentials, date: now)
            values.append(form)
            values.append(try form.request(key: "key", file: .data("file", [1]), at: now))
        }
        values.append(
            try OSSPostForm(
                url: "https://h/", fields: [.init("policy", "SECRETPOLICY"), .init("Signature", "SECRETSIGN")]))
        values.append(try OSSPresignedUpload("https://h/k?Signature=SECRETSIGN"))
        values.append(try OSSPresignedUpload("https://h/k?Signature=SECRETSIGN").request(.empty, at: now))
        values.append(CredentialCache.Decision.use(credentials))
        values.append(Result<StoreCredentials, StoreError>.success(credentials))
        return values
    }

    @Test func `no value prints a secret in any way`() throws {
        let signatures = try Self.signatures()
        for value in try Self.values() {
            var dumped = ""
            dump(value, to: &dumped)
            let printed =
                [
                    "\(value)", String(describing: value), String(reflecting: value), "\([value])", "\(["k": value])",
                    dumped,
                ]
                + [Mirror(reflecting: value).children.map { "\($0.value)" }.joined(separator: " ")]
            for text in printed {
                for secret in Self.secrets + signatures {
                    #expect(!text.contains(secret), "\(type(of: value)) prints \(secret)")
                }
            }
        }
    }

    /// Signatures made with these credentials, which grant access as the secret does.
    private static func signatures() throws -> [String] {
        try OSSSignatureVersion.allCases.map { version in
            let material = try OSSSigningMaterial(
                OSSRequestToSign(
                    .put, bucket: "bucket", key: "key", query: [StoreQueryItem("uploadId", "SECRETUPLOAD")]),
                rules: OSSSigningRules(version, region: "cn-hangzhou"), identity: credentials.identity, date: now)
            return material.signature(with: credentials.accessKeySecret)
        }
    }
}
