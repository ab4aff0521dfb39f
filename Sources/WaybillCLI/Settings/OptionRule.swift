import Waybill

/// A rule that omits a setting from calls that don't accept it.
///
/// A command rejects an option that doesn't apply to a call. Settings are defaults for all calls, so a rejected setting
/// would make valid calls fail. Values are not checked here: the command reports a malformed value.
struct OptionRule: Sendable {
    /// The commands to which the rule applies.
    let commands: [String]
    /// The long names of the options.
    let names: [String]
    /// Whether a call accepts the setting.
    let accepts: @Sendable (SettingsCall, SettingsCall.Default) -> Bool

    /// Returns whether a call accepts a setting.
    static func allow(_ setting: SettingsCall.Default, in call: SettingsCall) -> Bool {
        all.allSatisfy { rule in
            !rule.commands.contains(call.path) || !rule.names.contains(setting.name) || rule.accepts(call, setting)
        }
    }

    /// Returns whether an option belongs to a single call, such as its files or output, and can't be a setting.
    static func isPerCall(_ name: String, in path: String) -> Bool {
        // An output option of `post`, but a pattern of `put`.
        if name == "include" { return path == "post" }
        if path.hasPrefix("outbox "), path != "outbox run" { return perSelectionOptions.contains(name) }
        return perCallOptions.contains(name)
    }

    private static let perCallOptions: Set<String> = [
        "each", "each-from", "null", "queue", "dry-run", "dedupe", "output", "dump-header", "report", "extract",
        "preview",
    ]
    private static let perSelectionOptions: Set<String> = [
        "batch", "tag", "lane", "state", "failed", "all", "doubtful", "through", "older-than",
    ]
}

extension OptionRule {
    /// Options of `outbox run`, which can't be combined with `--queue`.
    private static let deliveryOptions = NetworkOptions.names + TimeOptions.names + ["retry", "insecure", "fail-early"]

    private static let all: [OptionRule] =
        [
            needs("queue", ["post", "put"], QueueOptions.names),
            excluded(by: "queue", ["post", "put"], deliveryOptions),
            excluded(by: "queue", ["post"], ["user", "digest", "parallel"]),
            excluded(by: "queue", ["put"], ["records", "no-resume", "skip-same"]),
            OptionRule(commands: ["post"], names: ["parallel", "fail-early"]) { call, _ in call.sendsEach },
            needs("dedupe", ["post", "put"], ["duplicates", "dedupe-for"]),
            needs("user", ["post"], ["digest"]),
            needs("recursive", ["put"], ["include", "exclude"]),
            OptionRule(commands: ["post", "put"], names: ["idempotency-window"]) { call, _ in
                ["honoured", "honored"].contains(call.values(of: "idempotency").last)
            },
            // A name for `post` and `put`, but a source for `outbox run`: a setting can be only one of them.
            OptionRule(commands: ["post", "put"], names: ["credential"]) { _, setting in
                !(setting.appliesToAllCommands && namesSource(setting.value))
            },
            OptionRule(commands: ["post", "put"], names: ["header"]) { call, setting in
                !call.has("queue") || QueueCheck.accepts(setting.value)
            },
        ] + networkRules + formRules + storeRules + doctorRules + imageRules

    /// Rules that never use the credentials of one certificate or proxy for another one.
    private static let networkRules: [OptionRule] = {
        let commands = ["post", "put", "outbox run"]
        return [
            needs("cert", commands, ["key", "pass", "cert-type"]),
            overridden(by: "cert", commands, ["key", "pass", "cert-type"]),
            overridden(by: "proxy", commands, ["proxy-user"]),
            excluded(by: "ipv4", commands, ["ipv6"]), excluded(by: "ipv6", commands, ["ipv4"]),
            OptionRule(commands: ["outbox run"], names: ["credential"]) { _, setting in
                !(setting.appliesToAllCommands && !namesSource(setting.value))
            },
        ]
    }()

    private static let formRules: [OptionRule] = [
        OptionRule(commands: ["post", "form build"], names: ["form"]) { call, setting in
            // The command reports a malformed argument.
            guard let argument = try? FormArgument(setting.value) else { return true }
            if !call.sendsEach, argument.patterns.contains(where: \.hasPlaceholder) { return false }
            switch argument.source {
            case .credential: return call.has("queue")
            case .environment, .textFile: return !call.has("queue")
            case .literal, .files: return true
            }
        },
        OptionRule(commands: ["post", "form build"], names: ["max-bytes", "quality"]) { call, setting in
            call.hasImage(for: setting.value)
        },
        OptionRule(commands: ["post", "form build"], names: ["min-side"]) { call, setting in
            call.has("max-bytes") && call.hasImage(for: setting.value)
        },
    ]

    private static let storeRules: [OptionRule] =
        PutOptionTable.rows.map { row in put([row.name]) { call, _ in row.stores.contains(call.store) } } + [
            // OSS derives each from the other; S3 needs both, but another profile is another store.
            put(["region"]) { call, _ in call.store == .s3 || !call.given.contains("endpoint") },
            put(["endpoint"]) { call, _ in call.store == .s3 || !call.given.contains("region") },
            overridden(by: "profile", ["put"], ["endpoint", "region"]),
            put(["insecure", "idempotency", "idempotency-window"]) { call, _ in
                call.store == .presigned || call.store == .tus
            },
            put(["parts-at-once"]) { call, _ in !(call.store == .tus && call.has("queue")) },
            put(["recursive"]) { call, _ in call.store != .presigned },
            put(["credential"]) { call, setting in
                call.store == .presigned || call.store == .tus || !setting.value.contains("=")
            },
            put(["part-size"]) { call, setting in
                guard let size = ByteCount(setting.value) else { return true }
                return switch call.store {
                case .qiniu: size >= .mebibytes(1) && size <= .gibibytes(1)
                case .s3: size >= .mebibytes(5)
                default: true
                }
            },
        ]

    private static let doctorRules: [OptionRule] = [
        OptionRule(commands: ["doctor"], names: DoctorStoreOptions.names) { call, _ in
            call.positionals.last?.lowercased().hasPrefix("s3://") == true
        },
        overridden(by: "profile", ["doctor"], ["endpoint", "region"]),
    ]

    private static let imageRules: [OptionRule] = [
        OptionRule(commands: ["shrink"], names: ["json"]) { call, _ in
            let output = call.values(of: "output").last ?? (call.positionals == ["-"] ? "-" : "")
            return output != "-"
        },
        // A value for one part of a form.
        OptionRule(commands: ["shrink"], names: ["max-bytes", "quality"]) { _, setting in
            !(setting.appliesToAllCommands && setting.value.contains("="))
        },
        OptionRule(commands: ["shrink"], names: ["min-side"]) { call, setting in
            call.has("max-bytes") && !call.has("max-side")
                && !(setting.appliesToAllCommands && setting.value.contains("="))
        },
    ]

    private static func needs(_ name: String, _ commands: [String], _ names: [String]) -> OptionRule {
        OptionRule(commands: commands, names: names) { call, _ in call.has(name) }
    }

    private static func excluded(by name: String, _ commands: [String], _ names: [String]) -> OptionRule {
        OptionRule(commands: commands, names: names) { call, _ in !call.has(name) }
    }

    private static func overridden(by name: String, _ commands: [String], _ names: [String]) -> OptionRule {
        OptionRule(commands: commands, names: names) { call, _ in !call.given.contains(name) }
    }

    private static func put(
        _ names: [String], _ accepts: @escaping @Sendable (SettingsCall, SettingsCall.Default) -> Bool
    ) -> OptionRule {
        OptionRule(commands: ["put"], names: names, accepts: accepts)
    }

    /// Returns whether a value names the source of a credential: `name=env:variable`, `name=@file`.
    private static func namesSource(_ value: String) -> Bool {
        value.contains("=env:") || value.contains("=@")
    }
}

extension SettingsCall {
    /// The kind of the destination of `put`. Only a presigned URL is stored in a file. The command reports an invalid
    /// destination.
    var store: PutStore { positionals.last.flatMap { try? PutDestination($0) }?.store ?? .presigned }

    /// Whether the form is sent once for each of several files.
    var sendsEach: Bool { has("each") || has("each-from") }

    /// Returns whether a limit or a quality, `front=100KiB` or `100KiB`, applies to an image of the form.
    func hasImage(for setting: String) -> Bool {
        let name = (try? PartSetting(setting) { $0 })?.name
        let arguments = values(of: "form").compactMap { try? FormArgument($0) }
        let files = values(of: "each")
        return arguments.contains { argument in
            guard name == nil || argument.name == name else { return false }
            // The files in a list are not known before it is read.
            if argument.sendsEach, has("each-from") { return true }
            let expanded = argument.sendsEach ? files.map(argument.expanded) : [argument]
            return expanded.contains { argument in
                guard case .files(let sent) = argument.source else { return false }
                // A part that the setting names is converted to a JPEG, unless it has another content type.
                return sent.contains {
                    FormAssembly.isJPEG($0) || has("heic") && FormAssembly.isHEIC($0)
                        || name != nil && $0.contentType == nil
                }
            }
        }
    }
}
