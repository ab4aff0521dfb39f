import Testing

/// Each rule is tested with an input that it must report and one that it must accept.
struct RuleTests {
    private func messages(_ findings: [Finding]) -> [String] { findings.map(\.message) }

    // MARK: Imports

    private func imported(_ line: String, in path: String) -> [String] {
        messages(ImportRule.findings(in: TextFile(path: path, text: "// why\n\(line)\n")))
    }

    @Test func `an import of a sibling module is reported`() {
        #expect(
            imported("import WaybillJPEG", in: "Sources/WaybillMultipart/A.swift") == [
                "WaybillMultipart must not import WaybillJPEG"
            ])
        #expect(
            imported("import Waybill", in: "Sources/WaybillCurl/A.swift") == ["WaybillCurl must not import Waybill"])
        #expect(imported("package import WaybillCore", in: "Sources/WaybillMultipart/A.swift").isEmpty)
        #expect(imported("@testable import WaybillJPEG", in: "Tests/WaybillMultipartTests/A.swift").isEmpty)
    }

    @Test func `a C module imported outside its owner is reported`() {
        #expect(
            imported("import CWaybillCurl", in: "Sources/Waybill/A.swift").contains(
                "only WaybillCurl imports CWaybillCurl"))
        #expect(
            imported("public import CWaybillCurl", in: "Sources/WaybillCurl/A.swift") == [
                "C types stay inside the module that imports them"
            ])
        #expect(imported("private import CWaybillCurl", in: "Sources/WaybillCurl/A.swift").isEmpty)
    }

    @Test func `Foundation is reported outside the targets that may use it`() {
        #expect(!imported("import Foundation", in: "Sources/WaybillCore/A.swift").isEmpty)
        #expect(!imported("public import struct Foundation.URL", in: "Sources/Waybill/A.swift").isEmpty)
        #expect(imported("import Foundation", in: "Sources/WaybillFoundation/A.swift").isEmpty)
        #expect(imported("import FoundationEssentials", in: "Sources/WaybillCore/A.swift").isEmpty)
    }

    @Test func `Synchronization and misplaced re-exports are reported`() {
        #expect(!imported("import Synchronization", in: "Sources/WaybillCurl/A.swift").isEmpty)
        #expect(!imported("@_exported public import WaybillCore", in: "Sources/Waybill/A.swift").isEmpty)
        #expect(imported("@_exported public import WaybillCore", in: "Sources/Waybill/Exports.swift").isEmpty)
    }

    @Test func `an unknown target is reported`() {
        #expect(imported("import WaybillCore", in: "Sources/WaybillAttic/A.swift").count == 1)
    }

    @Test func `imports in comments and strings are ignored`() {
        #expect(
            imported("/* import WaybillJPEG */ let text = \"import WaybillCurl\"", in: "Sources/Waybill/A.swift")
                .isEmpty)
        let text = "let sample = \"\"\"\n    import CWaybillCurl\n    \"\"\"\n"
        #expect(ImportRule.findings(in: TextFile(path: "Sources/Waybill/A.swift", text: text)).isEmpty)
    }

    // MARK: Manifest

    private let manifest = """
        let logging: Target.Dependency = .product(
            name: "Logging", package: "swift-log")
        // .target(name: "Ghost", dependencies: [])
        .target(name: "CThing", cSettings: c, linkerSettings: [.linkedLibrary("thing")]),
        .target(
            name: "Thing",
            dependencies: ["CThing", logging, .product(name: "Crypto", package: "swift-crypto"),
                .target(name: "Clibpq", condition: .when(traits: ["PostgreSQL"]))],
            swiftSettings: swift),
        .target(name: "TestSupport", dependencies: ["Thing"], path: "Tests/TestSupport"),
        .testTarget(name: "ThingTests", dependencies: ["Thing"]),
        """

    @Test func `dependencies are parsed from a manifest`() {
        #expect(
            ManifestRule.targets(in: manifest) == ["CThing": [], "Thing": ["CThing", "Logging", "Crypto", "Clibpq"]])
    }

    @Test func `unplanned and missing dependencies are reported`() {
        let wrong =
            #".target(name: "WaybillMultipart", dependencies: ["WaybillCore", "WaybillJPEG"], swiftSettings: s)"#
        let found = messages(ManifestRule.findings(inManifest: wrong))
        #expect(found.contains("WaybillMultipart -> WaybillJPEG is not in the plan"))
        #expect(found.contains("WaybillMultipart -> CWaybillFiles is in the plan only"))
        #expect(found.contains("the plan has a target WaybillCore, the manifest does not"))
        #expect(
            messages(ManifestRule.findings(inManifest: manifest)).contains(
                "target Thing is not in the plan (PackageLayers.swift)"))
    }

    @Test func `an architecture table that differs from the plan is reported`() {
        func rows(_ change: (String, String)?) -> String {
            PackageLayers.allowedImports.map { target, imports in
                let list =
                    change?.0 == target ? change!.1 : imports.isEmpty ? "nothing" : imports.joined(separator: ", ")
                return "| `\(target)` | \(list) | something |"
            }.joined(separator: "\n")
        }
        func findings(_ text: String) -> [String] {
            messages(PlanTableRule.findings(in: TextFile(path: "Docs/Architecture.md", text: text)))
        }
        #expect(findings(rows(nil)).isEmpty)
        #expect(findings(rows(("WaybillCore", "nothing"))).count == 1)
        #expect(findings(rows(nil) + "\n| `WaybillAttic` | nothing | dust |") == ["WaybillAttic is not in the plan"])
        #expect(findings("no table").contains("does not list Waybill"))
    }

    // MARK: Size

    private func swiftFile(_ text: String) -> TextFile { TextFile(path: "Sources/Waybill/A.swift", text: text) }

    @Test func `a file of 401 lines is reported, one of 400 is not`() {
        let lines = { String(repeating: "//\n", count: $0) }
        #expect(messages(SizeRule.findings(in: swiftFile(lines(401)))) == ["401 lines; at most 400"])
        #expect(SizeRule.findings(in: swiftFile(lines(400))).isEmpty)
    }

    @Test(arguments: ["func long(", "init(", "public init?(", "deinit {}; func long(", "subscript("])
    func `a function of 71 lines is reported, one of 70 is not`(start: String) {
        let function = { (count: Int) in
            "struct A {\n    \(start)x: Int) {\n" + String(repeating: "        f()\n", count: count - 2) + "    }\n}\n"
        }
        #expect(SizeRule.findings(in: swiftFile(function(71))).map(\.line) == [2])
        #expect(SizeRule.findings(in: swiftFile(function(70))).isEmpty)
    }

    @Test func `braces in strings, comments and names are not counted`() {
        let text = #"""
            func `a } in a name`() {
                let a = "}}} \(call("}") ?? "{") }"   // }
                let b = """
                    } \(a.map { "\($0) {" }) {
                    """
                /* } /* } */ } */
                let c = ##"} "# {"##
            }
            func next() async throws(Never)
                -> Int
            {
                1
            }
            """#
        #expect(SizeRule.functions(in: swiftFile(text)).map(\.length) == [8, 5])
    }

    @Test func `protocol requirements have no body`() {
        let text = """
            protocol P {
                func one(_ closure: () -> Void) -> Int
                init(x: Int)
                /// And so on.
                func two() throws
            }
            struct S {
                let a = S.init(x: 1)
                func three() { self.init() }
            }
            """
        #expect(SizeRule.functions(in: swiftFile(text)) == [.init(name: "three", line: 9, length: 1)])
    }

    @Test func `a C function of 71 lines is reported, a table is not`() {
        let body = String(repeating: "  f('{', \"}\"); // }\n", count: 69)
        let text =
            "static const int table[] = {\n" + String(repeating: " 1,\n", count: 90) + "};\nint f(void) {\n\(body)}\n"
        let findings = SizeRule.findings(in: TextFile(path: "Sources/CWaybillJPEG/a.c", text: text))
        #expect(findings == [Finding("Sources/CWaybillJPEG/a.c", 93, "function has 71 lines; at most 70")])
    }

    // MARK: Words

    private func found(_ text: String, in path: String = "Sources/Waybill/A.swift") -> Int {
        WordRule.findings(in: TextFile(path: path, text: text)).count
    }

    @Test func `task markers, placeholders and unfinished code are reported in any file`() {
        for word in ["TO" + "DO", "FIX" + "ME", "XX" + "X"] {
            #expect(found("// \(word): later") == 1)
            #expect(found("- \(word)", in: "Docs/A.md") == 1)
        }
        #expect(found("let template = \"/tmp/waybill.XX" + "XXXX\"") == 0)
        #expect(found("fatal" + "Error(\"not written yet\")") == 1)
        #expect(found("", in: "Sources/Waybill/Placeholder.swift") == 1)
    }

    @Test func `a message that names API is reported, also across interpolations`() {
        func found(_ literal: String, in path: String = "Sources/WaybillCurl/A.swift") -> Int {
            let text = "let a = \(literal)  // `limits.stall`, say .spill\n"
            return MessageRule.findings(in: TextFile(path: path, text: text), wireNames: ["callbackUrl"]).count
        }
        for literal in [
            #""Raise limits.stall.""#, #""Or set conflictPolicy""#, #"" (`conflictPolicy`)""#, #""Use .spill instead""#,
            #""Use UnknownLength.spill""#, #""set \(name), tls.pinnedKeys""#, #""\(f("a")) or say keepsPath""#,
        ] {
            #expect(found(literal) == 1, "\(literal)")
            #expect(found(literal, in: MessageRule.table) == 0)
            #expect(found(literal, in: "Tests/WaybillCurlTests/A.swift") == 0)
        }
        for literal in [
            #""conflictPolicy""#, #""callbackUrl needs a host""#, #""say example.com:443""#,
            #""took \(limits.stall) s.""#,
            #""\(count)Bytes of it""#, #""SELECT maxSide FROM x""#, #""in photos/a.jpg""#,
        ] {
            #expect(found(literal) == 0, "\(literal)")
        }
    }

    @Test func `a message that is not a sentence is reported`() {
        func found(_ call: String) -> Int {
            let file = TextFile(path: "Sources/Waybill/A.swift", text: "throw \(call)  // (\"quoted\n")
            return MessageStyleRule.findings(in: file).count
        }
        for call in [
            #"UploadError(.rejected, "the host is missing.")"#, #"UploadError(.rejected, "The host is missing")"#,
            #".usage("--each needs a file" + "; got none")"#, #"CommandFailure(code: .a, message: "the \(host(b)).")"#,
            #"StoreError(.a, part: f(1), "The part " + "\(n) of it", x: 1)"#,
        ] {
            #expect(found(call) == 1, "\(call)")
        }
        for call in [
            #"UploadError(.rejected, "The host is missing.")"#, #"UploadError(.a, "\(host) is \(words)")"#,
            #".usage("--each needs a file, " + "not \(f("a"))")"#, #"StoreError(.a, "The store responded: " + text)"#,
            #"BodyError(.a, name: "a small name", "It is.")"#, #"BodyError(.a, "libcurl failed (\(code)).")"#,
            #"DecodingError(path)"#, #"note("not an error")"#, #"TransferError(.a, "word")"#,
        ] {
            #expect(found(call) == 0, "\(call)")
        }
    }

    @Test func `a forbidden word is found in prose only`() {
        func count(_ text: String, _ path: String) -> Int {
            PlainWordRule.findings(in: TextFile(path: path, text: text)).count
        }
        let words = [
            "Who" + "ever listens", "no" + "body", "is t" + "old", "let" + " go", "12 is" + " none",
            "if there is" + " none", "for" + " ever",
        ]
        for word in words {
            #expect(count("// \(word)\n", "Sources/Waybill/A.swift") == 1, "\(word)")
            #expect(count("let a = \"\(word).\"\n", "Sources/Waybill/A.swift") == 1, "\(word)")
            #expect(count("\(word)\n", "Docs/A.md") == 1, "\(word)")
            #expect(count("    @Test func `\(word)`() {}\n", "Tests/WaybillTests/ATests.swift") == 1, "\(word)")
            #expect(count("# \(word)\n", "Scripts/a") == 1, "\(word)")
            #expect(count("let a = \"\(word)\"\n", "Tests/WaybillTests/ATests.swift") == 0, "\(word)")
            #expect(count("run \(word)\n", "Scripts/a") == 0, "\(word)")
        }
        #expect(count("let told = 1  // a count\n", "Sources/Waybill/A.swift") == 0)
        #expect(count("unfold, letgo, forever\n", "Docs/A.md") == 0)
    }

    @Test func `merge conflict markers are reported in any file`() {
        for mark in ["<", ">"] {
            #expect(found(String(repeating: mark, count: 7) + " main", in: "Fuzz/README.md") == 1)
        }
        #expect(found("let a = b >> 7 // " + String(repeating: ">", count: 7) + " x") == 0)
    }

    @Test func `paths of a machine are reported, URLs are not`() {
        #expect(found("see /wo" + "rk/shared", in: "README.md") == 1)
        #expect(found("\"/ho" + "me/anna\"") == 1)
        #expect(found("https://example.com/ho" + "me/anna and Docs/wo" + "rk/it and ~/ro" + "ot/x") == 0)
    }

    @Test func `force unwraps and casts are reported only in Sources`() {
        #expect(found("let a = try! read()") == 1)
        #expect(found("let a = b as! Int") == 1)
        #expect(found("let a = Int(text)! + URL(string: text)!.port!") == 1)
        #expect(found("let a = try? read() as? Int // try! as! Int(text)!") == 0)
        #expect(found("let a = try! read()", in: "Tests/WaybillTests/A.swift") == 0)
    }

    @Test func `disabled and empty tests are reported`() {
        #expect(found("@Test(.disabled(\"slow\"))", in: "Tests/WaybillTests/A.swift") == 1)
        #expect(found("#expect(true)", in: "Samples/Tests/A.swift") == 1)
    }

    // MARK: Layout and links

    @Test func `a target without tests is reported, and a planned target without sources`() {
        var paths = Set(PackageLayers.allowedImports.keys.map { "Sources/\($0)/A.swift" })
        for target in PackageLayers.allowedImports.keys {
            paths.insert("Tests/\(PackageLayers.testDirectories[target] ?? target + "Tests")/ATests.swift")
        }
        #expect(LayoutRule.findings(paths: paths).isEmpty)
        #expect(
            messages(LayoutRule.findings(paths: paths.subtracting(["Tests/CLITests/ATests.swift"]))) == [
                "has no tests in Tests/CLITests"
            ])
        #expect(
            messages(LayoutRule.findings(paths: paths.subtracting(["Sources/Waybill/A.swift"]))) == [
                "is in the plan but has no directory"
            ])
    }

    private func links(_ text: String) -> [String] {
        let other = "# The title\n## `Code` & signs, here\n## Twice\n## Twice\n```\n# no heading\n```\n"
        let file = TextFile(path: "Docs/A.md", text: text)
        return messages(
            LinkRule.findings(
                in: file, checkout: (["Docs", "Docs/A.md", "Docs/B.md"], { $0 == "Docs/B.md" ? other : text })))
    }

    @Test func `dead links are reported`() {
        #expect(links("[a](B.md) [b](../Docs/B.md#the-title) [c](/Docs/A.md) [d](https://example.com/x)").isEmpty)
        #expect(links("[a](B.md#code--signs-here) [b](B.md#twice-1)").isEmpty)
        #expect(links("[a](C.md)") == ["C.md: no such file"])
        #expect(links("[a](B.md#no-heading)") == ["B.md#no-heading: no such heading"])
        #expect(links("[a](#nowhere)") == ["#nowhere: no such heading"])
        #expect(links("[a](../../outside.md)") == ["../../outside.md: no such file"])
        #expect(links("`[a](C.md)`\n```\n[a](C.md)\n```").isEmpty)
        #expect(links("See <doc:B> and [b](doc:B), not ``B``.").count == 2)
    }
}
