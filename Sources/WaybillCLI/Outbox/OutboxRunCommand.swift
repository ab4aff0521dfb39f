import ArgumentParser
import Waybill
import WaybillOutbox
import WaybillStores

/// `waybill outbox run`: delivers queued uploads.
struct OutboxRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Delivers what is in the outbox, until a signal stops it.",
        discussion: """
            The outcome of uploads that an earlier run had started is determined first; nothing is sent again on a guess. \
            The first SIGINT or SIGTERM stops cleanly: no further upload is started, running ones have the time of --drain \
            to end, and the queue is kept. The second one ends the process immediately. That loses no item, but the next \
            run has to determine the outcome of the uploads that had no response by then.

            With --until-idle it ends when all items have ended or need a person, for a timer that starts it regularly. \
            Without, it runs until a signal.

            CREDENTIALS are only named in the outbox. The credential NAME is taken from the variable \
            WAYBILL_CREDENTIAL_NAME, in capitals and with _ for - and ., or as --credential says; it is read anew for \
            each upload, so a file may be replaced while it runs. One that is missing or refused blocks its lane, \
            that is the server with that account, until the next run or "waybill outbox resume --lane".

            Objects of a bucket go out as the account of the environment, OSS_ACCESS_KEY_ID and so on as with "waybill \
            put", unless they were queued with --credential; a credential is then the JSON of an OSS token server, or a \
            Qiniu upload token or the JSON of a Qiniu access key and secret key.

            PROGRESS:
            A terminal has a bar, by bytes. Elsewhere a line is printed each --progress-interval, 1m unless set, and \
            one for each retry with its reason and its wait.

            EXAMPLES:
              waybill outbox run
              waybill outbox run --until-idle --credential backend=@/run/secrets/backend
              waybill outbox run -j 4 --limit-rate 500K --cacert office.pem --json

            EXIT STATUS:
            \(Exit.table)
            """)

    @OptionGroup(title: "Outbox") var place: OutboxPlaceOptions

    @Flag(name: .customLong("until-idle"), help: "End when nothing is left to be done.")
    var untilIdle = false

    @Option(
        name: .customLong("credential"),
        help: ArgumentHelp("Where a credential is read from; may be repeated.", valueName: "name=env:variable|@file"))
    var credentials: [String] = []

    @Option(
        name: [.customShort("j", allowingJoined: true), .customLong("parallel")],
        help: ArgumentHelp("How many are delivered at once.", valueName: "number"))
    var parallel = 8

    @Option(
        name: .customLong("per-lane"),
        help: ArgumentHelp("How many at once to one server as one account.", valueName: "number"))
    var perLane = 5

    @Option(
        name: .customLong("drain"),
        help: ArgumentHelp("How long a signal leaves uploads under way; 0 for not at all.", valueName: "time"))
    var drain = "20s"

    @Flag(name: [.customShort("k"), .customLong("insecure")], help: "Accept any certificate. For a laboratory only.")
    var insecure = false

    @OptionGroup(title: "Network") var network: NetworkOptions
    @OptionGroup(title: "Time and rate") var times: TimeOptions
    @OptionGroup(title: "Output") var output: OutboxOutputOptions

    func run() async throws {
        let console = Console.standard
        try await finishing(output.json) { () async throws(CommandFailure) in
            let session = try session(console)
            let patience: Duration = drain == "0" ? .zero : try DurationArgument.read(drain, for: "--drain")
            let configuration = try configuration(console)
            Interrupt.arm()
            let outbox = try await place.place().open(configuration)
            if insecure { console.warnInsecure() }
            let run = OutboxRun(
                outbox: outbox, untilIdle: untilIdle, patience: patience, output: output, console: console,
                json: output.json ? JSONOutput(console) : nil)
            return try await run.run(session)
        }
    }

    /// The configuration of the outbox.
    private func configuration(_ console: Console) throws(CommandFailure) -> Outbox.Configuration {
        for (number, name) in [(parallel, "-j"), (perLane, "--per-lane")] where !(1...256).contains(number) {
            throw .usage("\(name) must be between 1 and 256; got \(number).")
        }
        var configuration = OutboxPlace.configuration
        let named = try OutboxCredentials(credentials, console: console)
        let accounts: [String: CredentialProvider] =
            named.names(StoreAccountName.oss) ? [:] : [StoreAccountName.oss: .environment()]
        configuration.credentials = StoreAccounts(oss: accounts, others: named)
        console.hide(["OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN"].compactMap { Environment.value(of: $0) })
        (configuration.slots, configuration.slotsPerLane) = (parallel, perLane)
        if output.verbose { configuration.logger = EventLog.logger(console) }
        return configuration
    }

    /// The session that sends uploads.
    private func session(_ console: Console) throws(CommandFailure) -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.userAgent = "waybill/\(WaybillCommand.version)"
        // The outbox has its own retry limits.
        configuration.retryBudget = nil
        (configuration.slots, configuration.slotsPerHost) = (max(8, parallel), max(8, parallel))
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
    @Flag(name: .customLong("json"), help: "One JSON object a line on standard output, the summary last.")
    var json = false

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print the events of the transfers.")
    var verbose = false

    @Flag(name: [.customShort("q"), .customShort("s"), .customLong("silent")], help: "Print nothing but errors.")
    var silent = false

    @OptionGroup var progress: ProgressOptions
}
