import FoundationEssentials
import WaybillCore
import WaybillStores

/// Forms that are signed but not sent.
enum PolicyTable {
    static let conditions: [[OSSPostPolicy.Condition]] = [
        [.bucket("examplebucket")],
        [
            .bucket("examplebucket"), .equals("success_action_status", "201"), .startsWith("key", "user/空/"),
            .contentLength(1...102_400), .oneOf("content-type", ["image/jpg", "image/png"]),
            .noneOf("cache-control", ["no-cache"]), .exactly("x-oss-meta-note", "5 $ \"net\" \\ \n"),
        ],
    ]

    /// Returns all forms.
    static func lines() throws -> [RequestLine] {
        let date = Date(timeIntervalSince1970: 1_795_257_600)
        var lines: [RequestLine] = []
        for identity in SignedTable.identities {
            let credentials = StoreCredentials(
                accessKeyID: identity.id, accessKeySecret: .secret(identity.secret),
                securityToken: identity.token.map { .secret($0) })
            for rules in [OSSSigningRules(.v1), OSSSigningRules(.v4, region: "cn-hangzhou")] {
                for (number, conditions) in conditions.enumerated() {
                    let policy = OSSPostPolicy(expiration: date.addingTimeInterval(600), conditions: conditions)
                    let form = try policy.form(
                        at: "https://examplebucket.oss-cn-hangzhou.aliyuncs.com/", rules: rules,
                        credentials: credentials,
                        date: date)
                    var line = RequestLine(
                        what: "form \(number) of \(rules.version)", id: identity.id, secret: identity.secret,
                        token: identity.token)
                    line.form = form.fields.map { [$0.name, $0.value.value] }
                    lines.append(line)
                }
            }
        }
        return lines
    }

    static let s3Conditions: [[S3PostPolicy.Condition]] = [
        [.bucket("examplebucket")],
        [
            .bucket("examplebucket"), .equals("success_action_status", "201"), .startsWith("key", "user/空/"),
            .contentLength(1...102_400), .exactly("x-amz-meta-note", "5 $ \"net\" \\ \n"),
        ],
    ]

    /// Returns all forms for S3.
    static func s3Lines() throws -> [RequestLine] {
        let date = Date(timeIntervalSince1970: 1_795_257_600)
        return try SignedTable.identities.flatMap { identity in
            let credentials = StoreCredentials(
                accessKeyID: identity.id, accessKeySecret: .secret(identity.secret),
                securityToken: identity.token.map { .secret($0) })
            return try s3Conditions.enumerated().map { number, conditions in
                let policy = S3PostPolicy(expiration: date.addingTimeInterval(600), conditions: conditions)
                let form = try policy.form(
                    at: "https://examplebucket.s3.eu-west-1.amazonaws.com/", region: "eu-west-1",
                    credentials: credentials, date: date)
                var line = RequestLine(
                    what: "S3 form \(number)", id: identity.id, secret: identity.secret, token: identity.token)
                line.region = "eu-west-1"
                line.form = form.fields.map { [$0.name, $0.value.value] }
                return line
            }
        }
    }
}
