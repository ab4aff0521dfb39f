/// Every target has tests, and every target of the plan has a directory.
enum LayoutRule {
    static func findings(paths: Set<String>) -> [Finding] {
        let targets = Set(
            paths.compactMap { path -> String? in
                let steps = path.split(separator: "/")
                return steps.count > 2 && steps[0] == "Sources" ? String(steps[1]) : nil
            })
        var findings: [Finding] = []
        for target in targets.sorted() {
            let folder = "Tests/" + (PackageLayers.testDirectories[target] ?? target + "Tests")
            if !paths.contains(where: { $0.hasPrefix(folder + "/") && $0.hasSuffix("Tests.swift") }) {
                findings.append(Finding("Sources/\(target)", nil, "has no tests in \(folder)"))
            }
        }
        for target in PackageLayers.allowedImports.keys.sorted() where !targets.contains(target) {
            findings.append(Finding("Sources/\(target)", nil, "is in the plan but has no directory"))
        }
        return findings
    }
}
