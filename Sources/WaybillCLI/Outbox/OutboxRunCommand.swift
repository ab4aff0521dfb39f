import ArgumentParser
import Waybill
import WaybillOutbox
import WaybillStores

/// `waybill outbox run`: delivers queued uploads.
struct OutboxRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Delivers the items of the outbox until a signal stops it.",
        discussion: """
            The outcome of uploads started by an earlier run is determined first; nothing is sent again without \
            knowing it. The first SIGINT or SIGTERM stops cleanly: no further upload is started, running ones have the \
            time of --drain to end, and the queue is kept. The second one ends the process immediately. That loses no \
            item, but the next run has to determine the outcome of the uploads that had no response by then.

            With --until-idle it ends when all items have ended or need attention, for use with a timer. Without, it \
            runs until a signal.

            CREDENTIALS are only named in the outbox. The credential NAME is taken from the variable \
            WAYBILL_CREDENTIAL_NAME, in capitals and with _ for - and ., or from --credential. It is read again for \
            each upload, so a file may be replaced while it runs. A missing or rejected credential blocks its lane, \
            which is the server with that account, until the next run or "waybill outbox resume --lane".

            Objects are uploaded with the account from the environment, OSS_ACCESS_KEY_ID and so on as with "waybill \
            put", unless they were queued with --credential; a credential is then for OSS and S3 the JSON of a token \
            server, or a Qiniu upload token or the JSON of a Qiniu access key and secret key.

            PROGRESS:
            A terminal shows a progress bar. Otherwise a line is printed every --progress-interval (default: 1m), and \
            one for each retry with its reason and delay.

            COMMAND AT THE END:
            --on-end runs a shell command for each item that ends: at least once, one at a time, in order. Its standard \
            input is the item as one line of JSON, as printed by "waybill outbox ack --json"; its output is written to \
            standard error. If it exits with another status than 0, or takes more than 5 minutes, it is run again \
            after 1 s, later after up to 5 min; later items wait for it, but no upload does. The next run continues with \
            the first item for which it has not succeeded. The first run with --on-end includes all items still kept.

            EXAMPLES:
              waybill outbox run
              waybill outbox run --until-idle --credential backend=@/run/secrets/backend
              waybill outbox run --on-end 'jq -r .id >> delivered.txt'
              waybill outbox run -j 4 --limit-rate 500K --cacert office.pem --json

            EXIT STATUS:
            \(Exit.table)
            """)

    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions

    @Flag(name: .customLong("until-idle"), help: "End when no item can be delivered anymore.")
    var untilIdle = false

    @Option(
        name: .customLong("credential"),
        help: ArgumentHelp("The source of a credential; may be repeated.", valueName: "name=env:variable|@file"))
    var credentials: [String] = []

    @Option(
        name: [.customShort("j", allowingJoined: true), .customLong("parallel")],
        help: ArgumentHelp("The maximum number of concurrent uploads.", valueName: "number"))
    var parallel = 8

    @Option(
        name: .customLong("per-lane"),
        help: ArgumentHelp("The maximum number of concurrent uploads per server and account.", valueName: "number"))
    var perLane = 5

    @Option(
        name: .customLong("drain"),
        help: ArgumentHelp(
            "How long running uploads may take after a signal; 0 to stop them immediately.", valueName: "time"))
    var drain = "20s"

    @Option(
        name: .customLong("on-end"),
        help: ArgumentHelp("A shell command to run for each item that ends.", valueName: "command"))
    var onEnd: String?

    @Flag(
        name: [.customShort("k"), .customLong("insecure")], help: "Accept any certificate. For test environments only.")
    var insecure = false

    @OptionGroup(title: "Network") var network: NetworkOptions
    @OptionGroup(title: "Time and rate") var times: TimeOptions
    @OptionGroup(title: "Output") var output: OutboxOutputOptions

    func run() async throws {
        let console = Console.standard
        try await finishing(output.json) { () async throws(CommandFailure) in
            let session = try session(console)
            let drainTimeout: Duration = drain == "0" ? .zero : try DurationArgument.read(drain, for: "--drain")
            let configuration = try configuration(console)
            guard onEnd != "" else { throw .usage("--on-end must be a command; got an empty text.") }
            Interrupt.arm()
            let outbox = try await location.resolved().open(configuration)
            if insecure { console.warnInsecure() }
            let run = OutboxRun(
                outbox: outbox, untilIdle: untilIdle, drainTimeout: drainTimeout, output: output, console: console,
                json: output.json ? JSONOutput(console) : nil, onEnd: onEnd)
            return try await run.run(session)
        }
    }

    /// The configuration of the outbox.
    private func configuration(_ console: Console) throws(CommandFailure) -> Outbox.Configuration {
        for (number, name) in [(parallel, "-j"), (perLane, "--per-lane")] where !(1...256).contains(number) {
            throw .usage("\(name) must be between 1 and 256; got \(number).")
        }
        var configuration = OutboxLocation.configuration
        let named = try OutboxCredentials(credentials, console: console)
        let oss = named.names(StoreAccountName.oss) ? [:] : [StoreAccountName.oss: CredentialProvider.environment()]
        let s3 = named.names(StoreAccountName.s3) ? [:] : [StoreAccountName.s3: S3Location.credentials]
        configuration.credentials = StoreAccounts(oss: oss, s3: s3, others: named)
        let secrets = ["OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN"] + S3Location.secretVariables
        console.hide(secrets.compactMap { Environment.value(of: $0) })
        configuration.maximumConcurrentDeliveries = parallel
        configuration.maximumConcurrentDeliveriesPerLane = perLane
        if output.verbose { configuration.logger = EventLog.logger(console) }
        let isSilent = output.silent
        configuration.storeChanged = { error in
            if let error {
                console.failure("waiting for the outbox: \(error.message.sentence)")
            } else if !isSilent {
                console.line("the outbox is available again")
            }
        }
        return configuration
    }

    /// The session that sends uploads.
    private func session(_ console: Console) throws(CommandFailure) -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.userAgent = "waybill/\(WaybillCommand.version)"
        // The outbox has its own retry limits.
        configuration.retryBudget = nil
        configuration.maximumConcurrentTransfers = max(8, parallel)
        configuration.maximumConcurrentTransfersPerHost = max(8, parallel)
        console.hide(try network.apply(to: &configuration.options, times, isInsecure: insecure))
        // Set on the session, which shares the rate among all uploads.
        configuration.rateLimit = configuration.options.transfer.rateLimit
        configuration.options.transfer.rateLimit = nil
        if output.verbose { configuration.logger = EventLog.logger(console) }
        return UploadSession(configuration: configuration)
    }
}

/// The options of the output.
struct OutboxOutputOptions: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Print one JSON object per line on standard output, the summary last.")
    var json = false

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print the events of the transfers.")
    var verbose = false

    @Flag(name: [.customShort("q"), .customShort("s"), .customLong("silent")], help: "Print only errors.")
    var silent = false

    @OptionGroup var progress: ProgressOptions
}
