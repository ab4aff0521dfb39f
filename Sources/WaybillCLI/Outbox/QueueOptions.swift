import ArgumentParser
import HTTPTypes
import Waybill
import WaybillOutbox

/// The options of queued uploads.
struct QueueOptions: ParsableArguments, OptionTable {
    @Flag(
        name: .customLong("queue"),
        help: "Put it into the outbox and print its number; \"waybill outbox run\" delivers.")
    var isWanted = false

    @OptionGroup var place: OutboxPlaceOptions

    @Option(
        name: .customLong("idempotency"),
        help: ArgumentHelp(
            "Whether the server acts once on each Idempotency-Key: honoured or ignored. ignored unless set.",
            valueName: "promise"))
    var idempotency: String?

    @Option(
        name: .customLong("idempotency-window"),
        help: ArgumentHelp("How long it knows a key, with honoured. 23h unless set.", valueName: "time"))
    var window: String?

    @Option(
        name: .customLong("on-unknown"),
        help: ArgumentHelp(
            "When it is unknown whether it arrived: fail, retry (may arrive twice) or ask (pause). fail unless set.",
            valueName: "policy"))
    var onUnknown: String?

    @Option(
        name: .customLong("if-changed"),
        help: ArgumentHelp(
            "When a file is not what it was: fail, restart (send what it is now) or skip. fail unless set.",
            valueName: "policy"))
    var onChange: String?

    @Flag(
        name: .customLong("snapshot"),
        help: "Keep a copy of each file (shared blocks where the disk can), so that the originals may change or go.")
    var keepsCopies = false

    @Option(
        name: .customLong("priority"),
        help: ArgumentHelp(
            "Send it before others: highest, high, normal, low, lowest. normal unless set.", valueName: "level"))
    var priority: String?

    @Option(name: .customLong("batch"), help: ArgumentHelp("The batch it belongs to.", valueName: "name"))
    var batch: String?

    @Option(name: .customLong("tag"), help: ArgumentHelp("A name to find it by; may be repeated.", valueName: "name"))
    var tags: [String] = []

    @Option(
        name: .customLong("dedupe"),
        help: ArgumentHelp(
            "What makes it the same as another that has not ended; with --each, {} in it stands for the file.",
            valueName: "key"))
    var dedupe: String?

    @Option(
        name: .customLong("duplicates"),
        help: ArgumentHelp(
            "When there is one of that key: keep it, replace it, or append (go after it). keep unless set.",
            valueName: "policy"))
    var duplicates: String?

    @Option(
        name: .customLong("deadline"),
        help: ArgumentHelp("How long it may still be begun: 90s, 15m, 12h, 7d. 7d unless set.", valueName: "time"))
    var deadline: String?

    @Option(name: .customLong("attempts"), help: ArgumentHelp("The most attempts. 10 unless set.", valueName: "number"))
    var attempts: Int?

    @Option(
        name: .customLong("credential"),
        help: ArgumentHelp(
            "The name of a credential that goes along as Authorization: Bearer, or as the whole value of a header field.",
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
        options.deadline = try deadline.map { (text) throws(CommandFailure) in
            try DurationArgument.read(text, for: "--deadline")
        }
        (options.batch, options.tags) = (batch, tags)
        options.deduplicationKey = dedupe.map { key in file.map { EachPattern(key).filled(for: $0) } ?? key }
        options.keeping = keepsCopies ? .snapshot : .reference
        options.onUnknown = try Self.choice(onUnknown, "--on-unknown", ["fail", "retry", "ask"], .fail)
        options.onChange = try Self.choice(onChange, "--if-changed", ["fail", "restart", "skip"], .fail)
        options.duplicates = try Self.choice(duplicates, "--duplicates", ["keep", "replace", "append"], .keep)
        guard duplicates == nil || dedupe != nil else { throw .usage("--duplicates needs --dedupe KEY.") }
        return options
    }

    /// Throws if several files would share one deduplication key.
    func checkKey(of files: Int) throws(CommandFailure) {
        guard let dedupe, files > 1, !EachPattern(dedupe).isOpen else { return }
        throw .usage("--dedupe: all files would be the same. Write {} in the key where their paths belong.")
    }

    /// Returns the idempotency that the server guarantees.
    func promise() throws(CommandFailure) -> Idempotency {
        let isHonoured: Bool
        switch idempotency {
        case nil, "ignored": isHonoured = false
        case "honoured", "honored": isHonoured = true
        case let other?:
            throw .usage("--idempotency: \(Redaction.quoted(other)) is neither honoured nor ignored.")
        }
        guard isHonoured else {
            if window != nil { throw .usage("--idempotency-window needs --idempotency honoured.") }
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
            throw .usage("--credential: what stands before the \"=\" can't be the name of a header field.")
        }
        return .field(field, named: name)
    }

    /// The options that need `--queue`.
    static let table: Table = [
        ("outbox", nil, { $0.place.path != nil }), ("idempotency", nil, { $0.idempotency != nil }),
        ("idempotency-window", nil, { $0.window != nil }), ("on-unknown", nil, { $0.onUnknown != nil }),
        ("if-changed", nil, { $0.onChange != nil }), ("snapshot", nil, { $0.keepsCopies }),
        ("priority", nil, { $0.priority != nil }), ("batch", nil, { $0.batch != nil }),
        ("tag", nil, { !$0.tags.isEmpty }), ("dedupe", nil, { $0.dedupe != nil }),
        ("duplicates", nil, { $0.duplicates != nil }), ("deadline", nil, { $0.deadline != nil }),
        ("attempts", nil, { $0.attempts != nil }), ("credential", nil, { $0.credential != nil }),
    ]

    /// Throws if one of these options is given without `--queue`.
    func checkUnused() throws(CommandFailure) {
        if let name = firstGiven { throw .usage("\(name) needs --queue.") }
    }

    private static func choice<Value: RawRepresentable<String>>(
        _ text: String?, _ option: String, _ names: [String], _ standard: Value
    ) throws(CommandFailure) -> Value {
        guard let text else { return standard }
        guard let value = Value(rawValue: text) else {
            throw .usage("\(option): \(Redaction.quoted(text)) is not one of \(names.joined(separator: ", ")).")
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
