/// A target imports lower layers only; C modules and Foundation are imported only by the targets that own them.
enum ImportRule {
    struct Import: Equatable {
        var line: Int
        var module: String
        var access: String?
        var isExported: Bool
    }

    static func imports(of code: String) -> [Import] {
        let pattern = ImportRule.pattern
        return code.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
            guard line.contains("import"), let match = line.wholeMatch(of: pattern) else { return nil }
            return Import(
                line: index + 1, module: String(match.module), access: match.access.map(String.init),
                isExported: match.attributes.contains("@_exported"))
        }
    }

    static func findings(in file: TextFile) -> [Finding] {
        guard let target = file.target, file.isSwift else { return [] }
        guard let allowed = PackageLayers.allowedImports[target] else {
            return [Finding(file.path, nil, "target \(target) is not in the plan (PackageLayers.swift)")]
        }
        return imports(of: file.code).flatMap { found -> [Finding] in
            problems(about: found, target: target, allowed: allowed, path: file.path)
                .map { Finding(file.path, found.line, $0) }
        }
    }

    private static func problems(
        about found: Import, target: String, allowed: Set<String>, path: String
    ) -> [String] {
        var problems: [String] = []
        let module = found.module
        if module == "Synchronization" {
            problems.append("use Locked: the thread sanitizer can't see into Synchronization.Mutex")
        } else if module == "Foundation" || module == "FoundationNetworking" || module == "FoundationXML" {
            if !PackageLayers.mayUseFoundation(path) {
                problems.append("\(module) here; import FoundationEssentials instead")
            }
        } else if !allowed.contains(module), !PackageLayers.toolchain.contains(module) {
            problems.append("\(target) must not import \(module)")
        }
        if let owner = PackageLayers.cModuleOwners[module] {
            if owner != target { problems.append("only \(owner) imports \(module)") }
            if found.access == "public" || found.access == "package" {
                problems.append("C types stay inside the module that imports them")
            }
        }
        if found.isExported, !path.hasSuffix("/Exports.swift") {
            problems.append("re-exports belong in Exports.swift")
        }
        return problems
    }

    private static var pattern: Regex<(Substring, attributes: Substring, access: Substring?, module: Substring)> {
        /\s*(?<attributes>(?:@\w+(?:\([^)]*\))?\s+)*)(?:(?<access>public|package|internal|fileprivate|private)\s+)?import\s+(?:(?:struct|class|enum|protocol|func|let|var|typealias)\s+)?(?<module>\w+)[.\w]*\s*;?\s*/
    }
}
