import TestSupport
import Testing

@testable import WaybillStores

@Suite struct `Profiles of Amazon's tools` {
    private typealias Format = AWSProfileParser.Format

    struct Row: Sendable {
        var format: AWSProfileParser.Format
        var text: String
        /// The profiles; `nil` if the file is refused.
        var profiles: [String: [String: String]]?
    }

    static let rows: [Row] = [
        Row(format: .config, text: "", profiles: [:]),
        Row(format: .config, text: "[profile foo]", profiles: ["foo": [:]]),
        Row(format: .config, text: "[profile foo", profiles: nil),
        Row(format: .config, text: "[profile \tfoo \t]", profiles: ["foo": [:]]),
        Row(format: .config, text: "[   profile\tfoo    ]\na=1", profiles: ["foo": ["a": "1"]]),
        Row(format: .config, text: "name = value", profiles: nil),
        Row(format: .config, text: "[default]\nname = value", profiles: ["default": ["name": "value"]]),
        Row(format: .config, text: "[default]\r\nname = value\r\n", profiles: ["default": ["name": "value"]]),
        Row(format: .config, text: "[default]\nname = val=ue", profiles: ["default": ["name": "val=ue"]]),
        Row(format: .config, text: "[default]\nname \t=  \tvä\u{301} \t", profiles: ["default": ["name": "vä\u{301}"]]),
        Row(format: .config, text: "[default]\nname =", profiles: ["default": ["name": ""]]),
        Row(format: .config, text: "[default]\n= value", profiles: nil),
        Row(format: .config, text: "[default]\nkey : value", profiles: nil),
        Row(format: .config, text: "\t \n[default]\n\t\n \nA = b\n\t \n", profiles: ["default": ["a": "b"]]),
        Row(format: .config, text: "# C\n; C\n[default] # C\na = b # C # D", profiles: ["default": ["a": "b"]]),
        Row(format: .config, text: "[default];C\na = b ; C\nc = d\t#", profiles: ["default": ["a": "b", "c": "d"]]),
        Row(format: .config, text: "[default]\na = b; C\nc = d#e", profiles: ["default": ["a": "b; C", "c": "d#e"]]),
        Row(format: .config, text: "[default] C\na = b", profiles: nil),
        Row(format: .config, text: "[default]\na = b\n  c # d", profiles: ["default": ["a": "b\nc # d"]]),
        Row(format: .config, text: "[default]\na = b\n # c\n d", profiles: ["default": ["a": "b\nd"]]),
        Row(format: .config, text: " continued", profiles: nil),
        Row(format: .config, text: "[default]\n continued", profiles: nil),
        Row(format: .config, text: "[default]\na = b\n[default]\n c", profiles: nil),
        Row(
            format: .config, text: "[default]\ns3 =\n  a = b\nc = d",
            profiles: ["default": ["s3": "\na = b", "c": "d"]]),
        Row(format: .config, text: "[default]\na = b\n[default]\na = c", profiles: ["default": ["a": "c"]]),
        Row(format: .config, text: "[default]\na = b\n[profile default]\nc = d", profiles: ["default": ["c": "d"]]),
        Row(format: .config, text: "[profile default]\nc = d\n[default]\na = b", profiles: ["default": ["c": "d"]]),
        Row(format: .config, text: "[foo]\na = b", profiles: [:]),
        Row(format: .config, text: "[profilefoo]\na = b\n[profile bar]", profiles: ["bar": [:]]),
        Row(format: .config, text: "[sso-session x]\na = b\n[services s]\ns3 =\n  e = f", profiles: [:]),
        Row(format: .credentials, text: "[foo]\na = b", profiles: ["foo": ["a": "b"]]),
        Row(format: .credentials, text: "[ foo ]\na = b\n[default]", profiles: ["foo": ["a": "b"], "default": [:]]),
    ]

    @Test(arguments: rows.indices) func `each file has the profiles of its row`(index: Int) throws {
        let row = Self.rows[index]
        guard let expected = row.profiles else {
            let error = #expect(throws: StoreError.self) {
                try AWSProfileParser.profiles(in: Array(row.text.utf8), row.format, path: "/f")
            }
            #expect(error?.code == .credentialsMalformed)
            #expect(error?.message.contains("of /f") == true)
            return
        }
        #expect(try AWSProfileParser.profiles(in: Array(row.text.utf8), row.format, path: "/f") == expected)
    }

    @Test(arguments: rows.indices) func `a file that ends anywhere is parsed or refused without its content`(
        index: Int
    ) {
        let row = Self.rows[index]
        let bytes = Array(row.text.utf8)
        for count in bytes.indices {
            do throws(StoreError) {
                let found = try AWSProfileParser.profiles(in: Array(bytes[..<count]), row.format, path: "/f")
                #expect(found.values.allSatisfy { $0.keys.allSatisfy { !$0.isEmpty } })
            } catch {
                #expect(error.code == .credentialsMalformed)
                #expect(!error.message.contains("value") && !error.message.contains("profile foo"))
            }
        }
    }

    @Test func `random bytes are parsed or refused`() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        let pieces = ["[", "]", "=", "#", ";", " ", "\t", "\n", "\r\n", "profile ", "default", "a", "é", "\u{0}"]
        for round in 0..<2_000 {
            var bytes = Array((0..<12).map { _ in pieces.randomElement(using: &random)! }.joined().utf8)
            if round % 4 == 0 { bytes[Int.random(in: bytes.indices, using: &random)] = 0xFF }
            for format in Format.allCases {
                do throws(StoreError) {
                    let found = try AWSProfileParser.profiles(in: bytes, format, path: "/f")
                    #expect(found.values.allSatisfy { $0[""] == nil }, "seed \(seed), round \(round)")
                } catch {
                    #expect(error.code == .credentialsMalformed, "seed \(seed), round \(round)")
                }
            }
        }
    }

    @Test func `an error names the line`() {
        let error = #expect(throws: StoreError.self) {
            try AWSProfileParser.profiles(in: Array("[default]\n\n# c\nSECRET".utf8), .credentials, path: "/f")
        }
        #expect(error?.message == "Line 4 of /f has no equals sign. Correct the file.")
    }
}
