import Foundation
import TestSupport
import Testing

/// The rules applied to the checkout itself. `RuleTests` shows that each rule can fail.
@Suite(.timeLimit(.minutes(2)))
struct TidyTests {
    let checkout = Checkout.here

    private func expectNone(_ findings: [Finding], _ rule: String) {
        guard !findings.isEmpty else { return }
        Issue.record("\(rule)\n\(findings.map { "  \($0)" }.joined(separator: "\n"))")
    }

    @Test func `the whole checkout is read`() {
        #expect(checkout.files.contains { $0.path == "Package.swift" })
        #expect(checkout.files.contains { $0.path == ".ci/run" })
        #expect(checkout.files.count(where: { $0.target != nil }) > 10)
        #expect(!checkout.paths.contains { $0.contains(".build") })
    }

    @Test func `targets import lower layers only`() {
        expectNone(checkout.files.flatMap(ImportRule.findings), "see PackageLayers.swift")
    }

    @Test func `each C module is imported only by its owner`() {
        for (module, owner) in PackageLayers.cModuleOwners {
            let importers = checkout.files.filter { file in
                file.isSwift && file.target != nil
                    && ImportRule.imports(of: file.code).contains { $0.module == module }
            }
            #expect(Set(importers.compactMap(\.target)) == [owner], "\(module)")
        }
    }

    @Test func `the manifest declares the dependencies of the plan`() throws {
        let manifest = try #require(checkout.files.first { $0.path == "Package.swift" })
        expectNone(ManifestRule.findings(inManifest: manifest.text), "see PackageLayers.swift for the plan")
    }

    @Test func `the architecture page lists the dependencies of the plan`() throws {
        let page = try #require(checkout.files.first { $0.path == "Docs/Architecture.md" })
        expectNone(PlanTableRule.findings(in: page), "see PackageLayers.swift for the plan")
    }

    @Test func `files and functions stay below their length limits`() {
        let measured = checkout.files.filter { file in
            ["Sources/", "Samples/", "Benchmarks/", "Fuzz/"].contains { file.path.hasPrefix($0) }
        }
        expectNone(measured.flatMap(SizeRule.findings), "split long files and functions")
    }

    @Test func `no task markers or unfinished code remain`() {
        expectNone(checkout.files.flatMap(WordRule.findings), "finish it")
    }

    @Test func `only the Remedy table names API in messages`() {
        let wireNames = MessageRule.wireNames(
            in: checkout.files.filter { $0.path.hasPrefix("Sources/WaybillStores/Qiniu/Token/") })
        expectNone(
            checkout.files.flatMap { MessageRule.findings(in: $0, wireNames: wireNames) }, "see \(MessageRule.table)")
    }

    @Test func `messages of errors are sentences`() {
        expectNone(checkout.files.flatMap(MessageStyleRule.findings), "see CONTRIBUTING.md")
    }

    @Test func `documents, comments, messages and test names use plain words`() {
        expectNone(checkout.files.flatMap(PlainWordRule.findings), "see CONTRIBUTING.md")
    }

    @Test func `every target has tests`() {
        expectNone(LayoutRule.findings(paths: checkout.paths), "see PackageLayers.swift for exceptions")
    }

    @Test func `relative links resolve`() {
        let texts = Dictionary(uniqueKeysWithValues: checkout.files.map { ($0.path, $0.text) })
        let findings = checkout.files.flatMap { file in
            LinkRule.findings(in: file, checkout: (checkout.paths, { texts[$0] }))
        }
        expectNone(findings, "fix the link or the file")
    }

    /// The pages link to files for a forge; the pages that `Scripts/docs` passes to DocC link to pages.
    @Test func `links between pages resolve in DocC`() async throws {
        let folder = try TemporaryDirectory()
        let run = try await ChildProcess.run(ProjectRoot.file("Scripts/docs"), ["--pages", folder.path("pages")])
        #expect(run.exit == .status(0), "\(run.errorText)")
        let made = Checkout(root: URL(filePath: folder.path("pages")))
        var findings: [Finding] = []
        var count = 0
        for file in made.files where file.isMarkdown {
            let catalogue = file.path.prefix { $0 != "/" } + "/"
            let pages = Set(
                made.paths.filter { $0.hasPrefix(catalogue) }.map { path in
                    path.split(separator: "/").last!.split(separator: ".")[0]
                })
            for link in LinkRule.prose(file.text).flatMap(LinkRule.links) where !link.hasPrefix("https://") {
                count += 1
                let page = link.dropFirst("doc:".count).prefix { $0 != "#" }
                if !link.hasPrefix("doc:") || !pages.contains(page) { findings.append(Finding(file.path, nil, link)) }
            }
        }
        #expect(count > 20)
        expectNone(findings, "no page of this catalogue")
        let topics = try #require(made.files.first { $0.path == "Waybill.docc/Waybill.md" })
        #expect(topics.text.contains("\n- <doc:FirstUpload>\n"))
        let outside = try #require(made.files.first { $0.path == "Waybill.docc/FirstUpload.md" })
        #expect(outside.text.contains("Error codes (`Docs/ErrorCodes.md`)"))
    }

    @Test func `the documentation depends on the newest release`() throws {
        let log = try #require(checkout.files.first { $0.path == "CHANGELOG.md" })
        let newest = try #require(log.text.firstMatch(of: /(?m)^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$/)).1
        let dependencies = checkout.files.filter { !$0.path.hasPrefix("Tests/") }.flatMap { file in
            file.text.matches(of: /\.package\(url: "https:\/\/forge\.example\/waybill", ([^)]*?), traits:/).map { $0.1 }
        }
        #expect(dependencies.count >= 3)
        for dependency in dependencies { #expect(dependency == "from: \"\(newest)\"") }
    }
}
