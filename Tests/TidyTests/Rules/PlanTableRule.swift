/// The table in `Docs/Architecture.md` lists the targets and imports of the plan.
enum PlanTableRule {
    static func findings(in page: TextFile) -> [Finding] {
        var listed: [String: Set<String>] = [:]
        var findings: [Finding] = []
        for (index, line) in page.lines.enumerated() {
            guard let row = line.firstMatch(of: /^\| `(C?Waybill\w*)` \| ([\w, ]+) \|/) else { continue }
            let names = row.2.split(separator: ",").map { $0.drop { $0 == " " } }.map(String.init)
            let imports = Set(names).subtracting(["nothing"])
            listed[String(row.1)] = imports
            if let planned = PackageLayers.allowedImports[String(row.1)] {
                if planned != imports {
                    let list = planned.sorted().joined(separator: ", ")
                    findings.append(Finding(page.path, index + 1, "\(row.1) imports \(list) in the plan"))
                }
            } else {
                findings.append(Finding(page.path, index + 1, "\(row.1) is not in the plan"))
            }
        }
        for target in PackageLayers.allowedImports.keys.sorted() where listed[target] == nil {
            findings.append(Finding(page.path, nil, "does not list \(target)"))
        }
        return findings
    }
}
