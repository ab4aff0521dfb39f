import ArgumentParser
import Glibc
import Waybill
import WaybillOutbox
import WaybillStores

/// The option that selects the outbox.
struct OutboxLocationOptions: ParsableArguments {
    @Option(
        name: .customLong("outbox"),
        help: ArgumentHelp(
            "The directory of the outbox, or postgresql://user@host/database. Default: $WAYBILL_OUTBOX, "
                + "$XDG_STATE_HOME/waybill/outbox, or ~/.local/state/waybill/outbox.", valueName: "directory|url"),
        completion: .directory)
    var path: String?

    /// Returns the location of the outbox.
    func resolved() throws(CommandFailure) -> OutboxLocation {
        OutboxLocation(path: try OutboxLocation.path(path, environment: Environment.value))
    }
}

/// The location of an outbox: a directory, or the URL of a database.
struct OutboxLocation: Sendable, Hashable {
    let path: String

    /// Whether this is the URL of a database, which outboxes of several machines share.
    var isShared: Bool { Self.isURL(path) }

    /// The location for output, without a password.
    var shown: String { isShared ? Redaction.url(path) : path }

    /// Returns the given location, or the one from the environment. Empty variables count as unset, and so does a
    /// relative `XDG_STATE_HOME` (XDG Base Directory Specification).
    static func path(_ named: String?, environment: (String) -> String?) throws(CommandFailure) -> String {
        if let named {
            guard !named.isEmpty else { throw .usage("--outbox must name a directory, or the URL of a database.") }
            return try checked(named, "--outbox")
        }
        if let path = environment("WAYBILL_OUTBOX"), !path.isEmpty { return try checked(path, "WAYBILL_OUTBOX") }
        if let base = environment("XDG_STATE_HOME"), base.hasPrefix("/") { return "\(base)/waybill/outbox" }
        guard let home = environment("HOME"), home.hasPrefix("/") else {
            throw .usage(
                "The location of the outbox is unknown. Pass its directory with --outbox, or set WAYBILL_OUTBOX.")
        }
        return "\(home)/.local/state/waybill/outbox"
    }

    private static func isURL(_ text: String) -> Bool {
        ["postgresql://", "postgres://"].contains { text.hasPrefix($0) }
    }

    /// Returns a location, unless it looks like a database without being its URL: it would become the name of a directory,
    /// with the password.
    private static func checked(_ text: String, _ source: String) throws(CommandFailure) -> String {
        // A URL of another scheme, an incomplete one, or keywords of libpq.
        let database =
            /^\s*([a-z][a-z0-9+.-]*:\/\/|postgres(ql)?:|(host|hostaddr|port|dbname|user|password|service)\s*=)/
            .ignoresCase()
        guard !isURL(text), text.contains(database) else { return text }
        throw .usage(
            "\(source) must be a directory, or the URL of a database in PostgreSQL: postgresql://user@host/database.")
    }

    /// The configuration for all commands, with all kinds of uploads registered.
    static var configuration: Outbox.Configuration {
        var configuration = Outbox.Configuration()
        configuration.kinds = [DurableOSSUpload.self, DurableS3Upload.self, DurableQiniuUpload.self]
        return configuration
    }

    /// Opens the outbox.
    ///
    /// - Parameters:
    ///   - configuration: Its configuration.
    ///   - creates: Whether an outbox that is missing is created.
    /// - Returns: The outbox.
    /// - Throws: ``CommandFailure`` if it cannot be opened, or does not exist.
    func open(
        _ configuration: Outbox.Configuration = OutboxLocation.configuration, creates: Bool = true
    ) async throws(CommandFailure) -> Outbox {
        var configuration = configuration
        if isShared {
            var store = try sharedStore(creates: creates)
            store.sharedDirectory = Environment.value(of: Self.filesVariable).flatMap { $0.isEmpty ? nil : $0 }
            configuration.store = store
        }
        do throws(OutboxError) {
            return isShared
                ? try await Outbox(configuration: configuration)
                : try await Outbox(at: path, configuration: configuration)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// The variable with the directory for large files, which all machines have mounted.
    static let filesVariable = "WAYBILL_OUTBOX_FILES"

    /// Opens an existing outbox.
    func openExisting(
        _ configuration: Outbox.Configuration = OutboxLocation.configuration
    ) async throws(CommandFailure) -> Outbox {
        var status = stat()
        if !isShared, unsafe stat(path, &status) != 0, errno == ENOENT {
            throw .usage(
                "There is no outbox at \(Redaction.escaped(path)). Pass another directory with "
                    + "--outbox.")
        }
        return try await open(configuration, creates: false)
    }
}

extension CommandFailure {
    /// Creates a failure from an error of an outbox.
    init(_ error: OutboxError) {
        self.init(
            code: Code(error.code.description), exit: Exit(error),
            message: error.message.sentence)
    }

    /// Creates a failure from the error of an upload that can't be queued.
    init(_ error: UploadError) {
        self.init(
            code: Code(error.code.description), exit: Exit(error, signal: nil),
            message: "\(error.code)\(error.place): \(error.message)")
    }
}

/// Runs an operation of an outbox and converts its errors to ``CommandFailure``.
func mappingOutboxErrors<Value>(_ work: () async throws(OutboxError) -> Value) async throws(CommandFailure) -> Value {
    do throws(OutboxError) {
        return try await work()
    } catch {
        throw CommandFailure(error)
    }
}
