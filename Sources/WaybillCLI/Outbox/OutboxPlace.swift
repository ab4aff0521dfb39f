import ArgumentParser
import Glibc
import Waybill
import WaybillOutbox
import WaybillStores

/// Which outbox.
struct OutboxPlaceOptions: ParsableArguments {
    @Option(
        name: .customLong("outbox"),
        help: ArgumentHelp(
            "The folder of the outbox; else $WAYBILL_OUTBOX, else $XDG_STATE_HOME/waybill/outbox, else "
                + "~/.local/state/waybill/outbox.", valueName: "folder"), completion: .directory)
    var path: String?

    /// The folder that is meant.
    func place() throws(CommandFailure) -> OutboxPlace {
        OutboxPlace(path: try OutboxPlace.path(path, environment: Environment.value))
    }
}

/// Where an outbox is.
struct OutboxPlace: Sendable, Hashable {
    let path: String

    /// The folder that was named, or the one of the environment. Empty variables count as none, and so does a relative
    /// `XDG_STATE_HOME` (XDG Base Directory Specification).
    static func path(_ named: String?, environment: (String) -> String?) throws(CommandFailure) -> String {
        if let named {
            guard !named.isEmpty else { throw .usage("--outbox: the folder has no name.") }
            return named
        }
        if let path = environment("WAYBILL_OUTBOX"), !path.isEmpty { return path }
        if let folder = environment("XDG_STATE_HOME"), folder.hasPrefix("/") { return "\(folder)/waybill/outbox" }
        guard let home = environment("HOME"), home.hasPrefix("/") else {
            throw .usage("where is the outbox? Name its folder with --outbox, or set WAYBILL_OUTBOX.")
        }
        return "\(home)/.local/state/waybill/outbox"
    }

    /// What any of our commands says to an outbox: it may hold all kinds of uploads that there are.
    static var configuration: Outbox.Configuration {
        var configuration = Outbox.Configuration()
        configuration.kinds = [DurableOSSUpload.self, DurableQiniuUpload.self]
        return configuration
    }

    /// Opens it, and makes it if it isn't there.
    func open(_ configuration: Outbox.Configuration = OutboxPlace.configuration) async throws(CommandFailure) -> Outbox
    {
        do throws(OutboxError) {
            return try await Outbox(at: path, configuration: configuration)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Opens one that is there: whoever only looks makes none.
    func openExisting(
        _ configuration: Outbox.Configuration = OutboxPlace.configuration
    ) async throws(CommandFailure) -> Outbox {
        var status = stat()
        if unsafe stat(path, &status) != 0, errno == ENOENT {
            throw .usage(
                "there is no outbox at \(Redaction.escaped(path)): nothing was queued there. Another one is named with "
                    + "--outbox.")
        }
        return try await open(configuration)
    }
}

extension CommandFailure {
    /// What an outbox could not do.
    init(_ error: OutboxError) {
        self.init(
            code: Code(error.code.description), exit: Exit(error),
            message: Self.sentence(error.message))
    }

    /// What is wrong with an upload that was to be queued.
    init(_ error: UploadError) {
        self.init(
            code: Code(error.code.description), exit: Exit(error, signal: nil),
            message: "\(error.code)\(error.place): \(error.message)")
    }
}

/// Runs what an outbox is asked, with its failures in the words of the command.
func asking<Value>(_ work: () async throws(OutboxError) -> Value) async throws(CommandFailure) -> Value {
    do throws(OutboxError) {
        return try await work()
    } catch {
        throw CommandFailure(error)
    }
}
