/// A parsed systemd unit file (systemd.syntax(7)).
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

    /// Returns all values of a setting, in order.
    func values(_ key: String) -> [String] { settings.filter { $0.key == key }.map(\.value) }

    /// The unknown settings and invalid values, according to a table of the settings in use.
    var findings: [String] {
        var findings = strayLines.map { "line \($0) is not a setting" }
        for setting in settings {
            guard let known = Self.known[setting.section]?[setting.key] else {
                findings.append(
                    "line \(setting.line): [\(setting.section)] has no \(setting.key) in this table")
                continue
            }
            // An empty value resets the setting.
            if !known.accepts(setting.value), !setting.value.isEmpty {
                findings.append("line \(setting.line): \(setting.key)=\(setting.value)")
            }
        }
        return findings
    }

    /// The type of a setting's value.
    enum Kind {
        case text, path, boolean, duration, mode
        case words(Set<String>)

        func accepts(_ value: String) -> Bool {
            switch self {
            case .text: !value.isEmpty
            case .path: value.drop { "-+@!".contains($0) }.first.map { "/%".contains($0) } ?? false
            case .boolean: ["yes", "no", "true", "false"].contains(value)
            case .duration: value.wholeMatch(of: /(?:\d+(?:ms|s|min|h|d)?\s?)+|infinity/) != nil
            case .mode: value.wholeMatch(of: /[0-7]{3,4}/) != nil
            case .words(let allowed): value.split(separator: " ").allSatisfy { allowed.contains(String($0)) }
            }
        }
    }

    /// The settings that our units use (systemd.unit(5), systemd.service(5), systemd.exec(5), systemd.kill(5),
    /// systemd.timer(5)).
    private static let known: [String: [String: Kind]] = [
        "Unit": [
            "Description": .text, "Documentation": .text, "After": .text, "StartLimitIntervalSec": .duration,
        ],
        "Service": [
            "Type": .words(["exec", "oneshot"]), "User": .text, "Group": .text, "StateDirectory": .text,
            "StateDirectoryMode": .mode, "WorkingDirectory": .path, "EnvironmentFile": .path, "ExecStart": .path,
            "LoadCredential": .text, "Restart": .words(["always", "on-failure"]), "RestartSec": .duration,
            "RestartPreventExitStatus": .text, "SuccessExitStatus": .text, "KillSignal": .words(["SIGTERM"]),
            "TimeoutStopSec": .duration, "UMask": .mode, "NoNewPrivileges": .boolean, "CapabilityBoundingSet": .text,
            "AmbientCapabilities": .text, "ProtectSystem": .words(["strict"]), "ProtectHome": .words(["read-only"]),
            "PrivateTmp": .boolean, "PrivateDevices": .boolean, "ProtectClock": .boolean,
            "ProtectControlGroups": .boolean,
            "ProtectHostname": .boolean, "ProtectKernelLogs": .boolean, "ProtectKernelModules": .boolean,
            "ProtectKernelTunables": .boolean, "ProtectProc": .words(["invisible"]),
            "RestrictAddressFamilies": .words(["AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"]),
            "RestrictNamespaces": .boolean, "RestrictRealtime": .boolean, "RestrictSUIDSGID": .boolean,
            "LockPersonality": .boolean, "MemoryDenyWriteExecute": .boolean, "RemoveIPC": .boolean,
            "SystemCallArchitectures": .words(["native"]), "SystemCallFilter": .words(["@system-service"]),
            "SystemCallErrorNumber": .words(["EPERM"]),
        ],
        "Timer": ["OnBootSec": .duration, "OnUnitInactiveSec": .duration, "RandomizedDelaySec": .duration],
        "Install": ["WantedBy": .words(["multi-user.target", "timers.target"])],
    ]
}
