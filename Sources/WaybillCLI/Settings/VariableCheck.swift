import WaybillCore
import Glibc
import Waybill

/// Finds environment variables that look like settings of this program but have no effect.
struct VariableCheck {
    let tree: CommandTree

    /// Variables that the build, the tests and the scripts of this project read.
    static let projectVariables: Set<String> = [
        "WAYBILL_ALONE", "WAYBILL_CACHE", "WAYBILL_CI", "WAYBILL_FAULT", "WAYBILL_FAULT_REPORT", "WAYBILL_FRESH_INSIDE",
        "WAYBILL_PLAIN_SWIFT", "WAYBILL_PRODUCTS", "WAYBILL_PROGRAM", "WAYBILL_SEED", "WAYBILL_SLOWNESS",
        "WAYBILL_SOAK", "WAYBILL_TEST_COUNTS", "WAYBILL_TORTURE",
    ]

    /// Returns a line with the variables that have no effect, or `nil` if there are none.
    func warning(about names: [String]) -> String? {
        let ours = names.filter { $0.hasPrefix("WAYBILL_") && !Self.projectVariables.contains($0) }.sorted()
        guard !ours.isEmpty else { return nil }
        let options = options()
        let texts = ours.compactMap { name -> String? in
            switch options[name] {
            case .isRead?: return nil
            case .isPerCall(let option)?: return "\(name) (pass --\(option) on the command line)"
            case nil:
                // The user chooses the names of credentials.
                if name.hasPrefix(CredentialName.variable(of: "")) { return nil }
                let known = options.filter { $0.value == .isRead }.keys
                return name + (Suggestion.nearest(to: name, among: known).map { " (did you mean \($0)?)" } ?? "")
            }
        }
        return texts.isEmpty ? nil : "warning: environment variables without effect: \(texts.joined(separator: ", "))"
    }

    private enum Use: Hashable {
        case isRead
        /// For an option that must be given with each call, or that may be repeated.
        case isPerCall(String)
    }

    private func options() -> [String: Use] {
        var options = ["WAYBILL_CONFIG": Use.isRead, OutboxLocation.filesVariable: .isRead]
        for leaf in tree.leaves {
            for option in leaf.settings {
                for name in option.longNames {
                    let isRead = !option.isRepeating && !OptionRule.isPerCall(option.longNames[0], in: leaf.path)
                    let variable = Settings.variable(name)
                    if isRead || options[variable] == nil { options[variable] = isRead ? .isRead : .isPerCall(name) }
                }
            }
        }
        return options
    }
}

extension Environment {
    /// The names of all variables.
    static var names: [String] {
        var names: [String] = []
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            let bytes = unsafe UnsafeRawBufferPointer(start: entry, count: strlen(entry))
            unsafe names.append(SystemPath.text(of: bytes.prefix { $0 != UInt8(ascii: "=") }))
            unsafe next += 1
        }
        return names
    }
}
