import Foundation

/// `Package.swift` declares exactly the dependencies of the plan.
enum ManifestRule {
    /// Returns the dependencies of each target outside `Tests`, by module name, parsed from the text of a manifest.
    static func targets(in manifest: String) -> [String: Set<String>] {
        let text = withoutComments(manifest)
        let products = productNames(in: text)
        var dependencies: [String: Set<String>] = [:]
        for match in text.matches(of: /\.(?:executableTarget|target)\(/) {
            let arguments = balanced(text, from: text.index(before: match.range.upperBound))
            guard let name = arguments.firstMatch(of: /^\s*name:\s*"([^"]+)"/)?.1 else { continue }
            // Inside a list of dependencies `.target(name:)` is a dependency, not a target; it has no settings.
            guard arguments.contains("ettings:") || arguments.contains("dependencies:") else { continue }
            guard arguments.firstMatch(of: /path:\s*"Tests\//) == nil else { continue }
            dependencies[String(name)] = Self.dependencies(in: arguments, products: products)
        }
        return dependencies
    }

    static func findings(inManifest manifest: String) -> [Finding] {
        let found = targets(in: manifest)
        var findings: [Finding] = []
        for (target, planned) in PackageLayers.allowedImports {
            guard let declared = found[target] else {
                findings.append(Finding("Package.swift", nil, "the plan has a target \(target), the manifest does not"))
                continue
            }
            for extra in declared.subtracting(planned).sorted() {
                findings.append(Finding("Package.swift", nil, "\(target) -> \(extra) is not in the plan"))
            }
            for missing in planned.subtracting(declared).sorted() {
                findings.append(Finding("Package.swift", nil, "\(target) -> \(missing) is in the plan only"))
            }
        }
        for target in found.keys where PackageLayers.allowedImports[target] == nil {
            findings.append(Finding("Package.swift", nil, "target \(target) is not in the plan (PackageLayers.swift)"))
        }
        return findings.sorted { $0.message < $1.message }
    }

    private static func dependencies(in arguments: String, products: [String: String]) -> Set<String> {
        guard let start = arguments.firstMatch(of: /dependencies:\s*\[/) else { return [] }
        let list = balanced(arguments, from: arguments.index(before: start.range.upperBound))
        return Set(
            items(of: list).compactMap { item in
                if let name = item.firstMatch(of: /^\.(?:product|target|byName)\(\s*name:\s*"([^"]+)"/)?.1 {
                    return String(name)
                }
                return item.hasPrefix("\"") ? item.trimmingCharacters(in: ["\""]) : products[item] ?? item
            })
    }

    /// Returns the items of a list, split at commas outside brackets.
    private static func items(of list: String) -> [String] {
        var depth = 0
        let parts = list.split { character in
            if "([".contains(character) { depth += 1 }
            if ")]".contains(character) { depth -= 1 }
            return depth == 0 && character == ","
        }
        return parts.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter { !$0.isEmpty }
    }

    /// Maps `let logging: Target.Dependency = .product(name: "Logging", …)` to `logging: "Logging"`.
    private static func productNames(in text: String) -> [String: String] {
        var names: [String: String] = [:]
        for match in text.matches(of: /let (\w+): Target\.Dependency\s*=\s*\.product\(\s*name:\s*"([^"]+)"/) {
            names[String(match.1)] = String(match.2)
        }
        return names
    }

    /// Returns the text between the bracket at `start` and its matching bracket.
    private static func balanced(_ text: String, from start: String.Index) -> String {
        var depth = 0
        var at = start
        while at < text.endIndex {
            if "([".contains(text[at]) { depth += 1 }
            if ")]".contains(text[at]) { depth -= 1 }
            if depth == 0 { return String(text[text.index(after: start)..<at]) }
            at = text.index(after: at)
        }
        return String(text[start...])
    }

    private static func withoutComments(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.trimmingCharacters(in: .whitespaces).hasPrefix("//") }.joined(separator: "\n")
    }
}
