/// A unit file of systemd, cut into sections and settings (systemd.syntax(7)).
struct UnitFile {
    struct Setting: Equatable {
        var section: String
        var key: String
        var value: String
        var line: Int
    }

    private(set) var settings: [Setting] = []
    /// Lines that are neither a section, a setting, a comment nor empty.
    private(set) var strayLines: [Int] = []

    init(_ text: String) {
        var section = ""
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
            if line.hasPrefix("["), line.hasSuffix("]") {
                section = String(line.dropFirst().dropLast())
            } else if let equals = line.firstIndex(of: "="), !section.isEmpty, !line.hasPrefix(" ") {
                settings.append(
                    Setting(
                        section: section, key: String(line[..<equals]),
                        value: String(line[line.index(after: equals)...]), line: index + 1))
            } else {
                strayLines.append(index + 1)
            }
        }
    }

    /// All values of a setting, in order.
    func values(_ key: String) -> [String] { settings.filter { $0.key == key }.map(\.value) }

    /// What is wrong with it, as far as a table of the settings in use can tell.
    var findings: [String] {
        var findings = strayLines.map { "line \($0) is no setting" }
        for setting in settings {
            guard let known = Self.known[setting.section]?[setting.key] else {
                findings.append(
                    "line \(setting.line): [\(setting.section)] has no \(setting.key), as far as this table knows")
                continue
            }
            // An empty value takes back what was said before.
            if !known.accepts(setting.value), !setting.value.isEmpty {
                findings.append("line \(setting.line): \(setting.key)=\(setting.value)")
            }
        }
        return findings
    }

    /// What a setting may be.
    enum Kind {
        case text, path, truth, span, mode
        case words(Set<String>)

        func accepts(_ value: String) -> Bool {
            switch self {
            case .text: !value.isEmpty
            case .path: value.drop { "-+@!".contains($0) }.first.map { "/%".contains($0) } ?? false
            case .truth: ["yes", "no", "true", "false"].contains(value)
            case .span: value.wholeMatch(of: /(?:\d+(?:ms|s|min|h|d)?\s?)+|infinity/) != nil
            case .mode: value.wholeMatch(of: /[0-7]{3,4}/) != nil
            case .words(let allowed): value.split(separator: " ").allSatisfy { allowed.contains(String($0)) }
            }
        }
    }

    /// The settings that our units use (systemd.unit(5), systemd.service(5), systemd.exec(5), systemd.kill(5),
    /// systemd.timer(5)).
    private static let known: [String: [String: Kind]] = [
        "Unit": [
            "Description": .text, "Documentation": .text, "After": .text, "StartLimitIntervalSec": .span,
        ],
        "Service": [
            "Type": .words(["exec", "oneshot"]), "User": .text, "Group": .text, "StateDirectory": .text,
            "StateDirectoryMode": .mode, "WorkingDirectory": .path, "EnvironmentFile": .path, "ExecStart": .path,
            "LoadCredential": .text, "Restart": .words(["always", "on-failure"]), "RestartSec": .span,
            "RestartPreventExitStatus": .text, "SuccessExitStatus": .text, "KillSignal": .words(["SIGTERM"]),
            "TimeoutStopSec": .span, "UMask": .mode, "NoNewPrivileges": .truth, "CapabilityBoundingSet": .text,
            "AmbientCapabilities": .text, "ProtectSystem": .words(["strict"]), "ProtectHome": .words(["read-only"]),
            "PrivateTmp": .truth, "PrivateDevices": .truth, "ProtectClock": .truth, "ProtectControlGroups": .truth,
            "ProtectHostname": .truth, "ProtectKernelLogs": .truth, "ProtectKernelModules": .truth,
            "ProtectKernelTunables": .truth, "ProtectProc": .words(["invisible"]),
            "RestrictAddressFamilies": .words(["AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"]),
            "RestrictNamespaces": .truth, "RestrictRealtime": .truth, "RestrictSUIDSGID": .truth,
            "LockPersonality": .truth, "MemoryDenyWriteExecute": .truth, "RemoveIPC": .truth,
            "SystemCallArchitectures": .words(["native"]), "SystemCallFilter": .words(["@system-service"]),
            "SystemCallErrorNumber": .words(["EPERM"]),
        ],
        "Timer": ["OnBootSec": .span, "OnUnitInactiveSec": .span, "RandomizedDelaySec": .span],
        "Install": ["WantedBy": .words(["multi-user.target", "timers.target"])],
    ]
}
