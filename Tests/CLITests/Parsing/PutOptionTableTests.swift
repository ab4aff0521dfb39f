import ArgumentParser
import Testing

@testable import WaybillCLI

@Suite struct PutOptionTableTests {
    private static let destinations: [(PutStore, String)] = [
        (.oss, "oss://bucket/k"), (.qiniu, "qiniu://bucket/k"), (.s3, "s3://bucket/k"),
        (.tus, "tus+https://files.example/u"),
        (.presigned, "https://bucket.example/k?Signature=s"),
    ]
    private static let values = [
        "endpoint": "https://e.example", "profile": "r2", "rs-host": "https://rs.example", "checksum": "md5",
        "region": "cn-beijing",
        "sign-version": "v1", "acl": "private",
        "storage-class": "IA", "up-host": "https://up.example", "part-size": "1MiB", "parts-at-once": "3",
        "content-type": "image/jpeg", "meta": "a=b", "records": "r", "header": "A: b", "redirect": "get",
    ]

    @Test(arguments: PutOptionTable.rows.map(\.name))
    func `an option is an error where it does not apply`(_ name: String) throws {
        let row = try #require(PutOptionTable.rows.first { $0.name == name })
        for (store, url) in Self.destinations {
            let option = ["--\(name)"] + [Self.values[name]].compactMap(\.self)
            let command = try #require(try WaybillCommand.parseAsRoot(["put", "a", url] + option) as? PutCommand)
            #expect(try PutDestination(url).store == store)
            #expect(row.isGiven(command))
            var message: String?
            do throws(CommandFailure) { try PutOptionTable.check(command, for: store) } catch {
                message = error.message
            }
            let expected =
                row.stores.contains(store) ? nil : "--\(name) does not apply to \(store.name). Leave it out."
            #expect(message == expected)
        }
    }

    @Test func `a command without options applies everywhere`() throws {
        for (store, url) in Self.destinations {
            let command = try #require(try WaybillCommand.parseAsRoot(["put", "a", url]) as? PutCommand)
            #expect(throws: Never.self) { try PutOptionTable.check(command, for: store) }
        }
    }
}
