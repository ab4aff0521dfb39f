import ArgumentParser
import HTTPTypes
import Waybill
import WaybillOutbox

/// The options of queued uploads.
struct QueueOptions: ParsableArguments, OptionTable {
    @Flag(
        name: .customLong("queue"),
        help: "Add the upload to the outbox and print its number; \"waybill outbox run\" delivers it.")
    var isEnabled = false

    @OptionGroup var location: OutboxLocationOptions

    @Option(
        name: .customLong("idempotency"),
        help: ArgumentHelp(
            "Whether the server acts only once on each Idempotency-Key: honored or ignored. Default: ignored.",
            valueName: "honored|ignored"))
    var idempotency: String?

    @Option(
        name: .customLong("idempotency-window"),
        help: ArgumentHelp(
            "How long the server remembers a key, with --idempotency honored. Default: 23h.", valueName: "time"))
    var window: String?

    @Option(
        name: .customLong("on-unknown"),
        help: ArgumentHelp(
            "If it is unknown whether the upload arrived: fail, retry (may arrive twice) or ask (pause). "
                + "Default: fail.",
            valueName: "policy"))
    var onUnknown: String?

    @Option(
        name: .customLong("if-changed"),
        help: ArgumentHelp(
            "If a file has changed: fail, restart (send the new content) or skip. Default: fail.",
            valueName: "policy"))
    var onChange: String?

    @Flag(
        name: .customLong("snapshot"),
        help: "Store a copy of each file (sharing blocks if supported), so that the originals may change.")
    var keepsCopies = false

    @Flag(
        name: .customLong("pin"),
        help: "Let only this machine deliver files that stay in place, if --outbox is a database of several machines.")
    var allowsPinning = false

    @Option(
        name: .customLong("priority"),
        help: ArgumentHelp(
            "The priority: highest, high, normal, low, lowest. Default: normal.", valueName: "level"))
    var priority: String?

    @Option(name: .customLong("batch"), help: ArgumentHelp("The batch of the upload.", valueName: "name"))
    var batch: String?

    @Option(name: .customLong("tag"), help: ArgumentHelp("A tag of the upload; may be repeated.", valueName: "name"))
    var tags: [String] = []

    @Option(
        name: .customLong("dedupe"),
        help: ArgumentHelp(
            "The deduplication key, compared with unfinished uploads; with --each, {} is replaced by the file.",
            valueName: "key"))
    var dedupe: String?

    @Option(
        name: .customLong("duplicates"),
        help: ArgumentHelp(
            "If an upload has this key: keep it, replace it, or append after it. Default: keep.",
            valueName: "policy"))
    var duplicates: String?

    @Option(
        name: .customLong("dedupe-for"),
        help: ArgumentHelp(
            "How long the deduplication key stays reserved after the delivery. Default: not at all.", valueName: "time")
    )
    var dedupePeriod: String?

    @Option(
        name: .customLong("delay"),
        help: ArgumentHelp(
            "The time before which no attempt is started: 90s, 15m, 12h, 7d. Default: none.", valueName: "time"))
    var delay: String?

    @Option(
        name: .customLong("deadline"),
        help: ArgumentHelp(
            "The time, after the delay, after which no attempt is started. Default: 7d.", valueName: "time"))
    var deadline: String?

    @Option(
        name: .customLong("attempts"),
        help: ArgumentHelp("The maximum number of attempts. Default: 10.", valueName: "number"))
    var attempts: Int?

    @Option(
        name: .customLong("credential"),
        help: ArgumentHelp(
            "The name of a credential to send as Authorization: Bearer, or as the whole value of a header field.",
            valueName: "[field=]name"))
    var credential: String?

    /// Returns the options of a queued upload. `file` replaces patterns.
    func options(for file: String? = nil) throws(CommandFailure) -> EnqueueOptions {
        var options = EnqueueOptions()
        if let attempts, !(1...10_000).contains(attempts) {
            throw .usage("--attempts must be between 1 and 10000; got \(attempts).")
        }
        if let priority {
            guard let level = UploadPriority(level: priority) else {
                let levels = UploadPriority.levels.joined(separator: ", ")
                throw .usage("--priority must be one of \(levels); got \(Redaction.quoted(priority)).")
            }
            options.priority = level
        }
        options.maxAttempts = attempts ?? options.maxAttempts
        if let delay { options.delay = try DurationArgument.read(delay, for: "--delay") }
        guard options.delay <= .seconds(366 * 86_400) else {
            throw .usage("--delay must be at most 366d; got \(delay ?? "").")
        }
        options.deadline = try deadline.map { (text) throws(CommandFailure) in
            try DurationArgument.read(text, for: "--deadline")
        }
        (options.batch, options.tags) = (batch, tags)
        options.deduplicationKey = dedupe.map { key in file.map { EachPattern(key).expanded(for: $0) } ?? key }
        options.allowsPinning = allowsPinning
        options.fileStorage = keepsCopies ? .snapshot : .reference
        options.onUnknown = try Self.choice(onUnknown, "--on-unknown", ["fail", "retry", "ask"], .fail)
        options.onChange = try Self.choice(onChange, "--if-changed", ["fail", "restart", "skip"], .fail)
        options.duplicates = try Self.choice(duplicates, "--duplicates", ["keep", "replace", "append"], .keep)
        if let dedupePeriod {
            guard dedupe != nil else { throw .usage("--dedupe-for requires --dedupe KEY.") }
            options.deduplicationPeriod = try DurationArgument.read(dedupePeriod, for: "--dedupe-for")
        }
        guard duplicates == nil || dedupe != nil else { throw .usage("--duplicates requires --dedupe KEY.") }
        return options
    }

    /// Throws if several files would share one deduplication key.
    func checkKey(of files: Int) throws(CommandFailure) {
        guard let dedupe, files > 1, !EachPattern(dedupe).hasPlaceholder else { return }
        throw .usage("--dedupe: all files would have the same key. Write {} in the key for their paths.")
    }

    /// Returns the idempotency that the server guarantees.
    func requestIdempotency() throws(CommandFailure) -> Idempotency {
        let isHonored: Bool
        switch idempotency {
        case nil, "ignored": isHonored = false
        case "honoured", "honored": isHonored = true
        case let other?:
            throw .usage("--idempotency must be honored or ignored; got \(Redaction.quoted(other)).")
        }
        guard isHonored else {
            if window != nil { throw .usage("--idempotency-window requires --idempotency honored.") }
            return .ignored
        }
        // Slightly less than the day for which most servers remember keys.
        return .honoured(window: try DurationArgument.read(window ?? "23h", for: "--idempotency-window"))
    }

    /// Returns the credential of the request.
    func requestCredential() throws(CommandFailure) -> DurableCredential? {
        guard let credential else { return nil }
        guard let equals = credential.firstIndex(of: "=") else {
            return .bearer(named: try CredentialName.checked(credential, for: "--credential"))
        }
        let name = try CredentialName.checked(
            String(credential[credential.index(after: equals)...]), for: "--credential")
        guard let field = HTTPField.Name(String(credential[..<equals])) else {
            throw .usage("--credential: the text before \"=\" is not a valid header field name.")
        }
        return .field(field, named: name)
    }

    /// The options that need `--queue`.
    static let table: Table = [
        ("outbox", nil, { $0.location.path != nil }), ("idempotency", nil, { $0.idempotency != nil }),
        ("idempotency-window", nil, { $0.window != nil }), ("on-unknown", nil, { $0.onUnknown != nil }),
        ("if-changed", nil, { $0.onChange != nil }), ("snapshot", nil, { $0.keepsCopies }),
        ("pin", nil, { $0.allowsPinning }),
        ("priority", nil, { $0.priority != nil }), ("batch", nil, { $0.batch != nil }),
        ("tag", nil, { !$0.tags.isEmpty }), ("dedupe", nil, { $0.dedupe != nil }),
        ("duplicates", nil, { $0.duplicates != nil }), ("dedupe-for", nil, { $0.dedupePeriod != nil }),
        ("delay", nil, { $0.delay != nil }),
        ("deadline", nil, { $0.deadline != nil }),
        ("attempts", nil, { $0.attempts != nil }), ("credential", nil, { $0.credential != nil }),
    ]

    /// Throws if one of these options is given without `--queue`.
    func checkUnused() throws(CommandFailure) {
        if let name = firstGiven { throw .usage("\(name) requires --queue. Add --queue, or leave it out.") }
    }

    private static func choice<Value: RawRepresentable<String>>(
        _ text: String?, _ option: String, _ names: [String], _ standard: Value
    ) throws(CommandFailure) -> Value {
        guard let text else { return standard }
        guard let value = Value(rawValue: text) else {
            throw .usage("\(option) must be one of \(names.joined(separator: ", ")); got \(Redaction.quoted(text)).")
        }
        return value
    }
}

extension UploadPriority {
    /// The names on the command line, the most urgent first.
    static let levels = ["highest", "high", "normal", "low", "lowest"]

    var level: String { Self.levels[2 - rawValue] }

    init?(level: String) {
        guard let index = Self.levels.firstIndex(of: level) else { return nil }
        self.init(rawValue: 2 - index)
    }
}
