import ArgumentParser
import Waybill

/// The exit status of the command.
enum Exit: Int32, Sendable, Hashable, CaseIterable {
    case done = 0
    case rejected = 1
    case usage = 2
    case source = 3
    case sourceChanged = 4
    case transient = 5
    case unknown = 6
    case fatal = 7
    case queued = 75
    case interrupted = 130
    case terminated = 143

    /// A description of the status.
    var meaning: String {
        switch self {
        case .done: "done"
        case .rejected: "the server responded with an error; the response is on standard output"
        case .usage: "invalid usage; nothing was sent"
        case .source: "a file is missing or unreadable, or an image can't be compressed below the limit"
        case .sourceChanged: "a file changed while it was sent; the server has no complete upload"
        case .transient: "the network failed before everything was sent, or status 425, 429 or 503: try again later"
        case .unknown: "everything was sent, but no response or 408, 500, 502, 504: check the server before resending"
        case .fatal: "certificate verification failed, output file not writable, or outbox unusable"
        case .queued: "still queued: items need attention, or another process uses the outbox"
        case .interrupted: "stopped by SIGINT"
        case .terminated: "stopped by SIGTERM"
        }
    }

    /// A table of all statuses with their descriptions, one line each.
    static var table: String {
        allCases.map { exit in
            let number = String(exit.rawValue)
            return "  \(String(repeating: " ", count: 3 - number.utf8.count))\(number)  \(exit.meaning)"
        }.joined(separator: "\n")
    }

    /// The value of `result` in the JSON summary.
    var result: String {
        switch self {
        case .done: "succeeded"
        case .interrupted, .terminated: "cancelled"
        default: "failed"
        }
    }

    /// Returns the status after a signal.
    static func signal(_ number: Int32) -> Exit { number == 15 ? .terminated : .interrupted }
}

extension Exit {
    /// Creates the status for a failed upload.
    ///
    /// The outcome has precedence over the error code: after `unknown`, sending again could duplicate the upload.
    init(_ error: UploadError, signal: Int32?) {
        if error.isCancelled {
            self = .signal(signal ?? 2)
        } else if error.outcome == .rejected || error.code == .rejected && error.response?.status.kind == .successful {
            self = Self.isTemporaryRejection(error.response?.status.code) ? .transient : .rejected
        } else if error.outcome.mayHaveActed {
            self = .unknown
        } else {
            self = Self.codes[error.code.description] ?? .transient
        }
    }

    /// Returns whether a rejection with this status code is temporary.
    static func isTemporaryRejection(_ status: Int?) -> Bool { status.map { [425, 429, 503].contains($0) } ?? false }

    /// Creates the status for an image that can't be compressed.
    init(_ error: JPEGError, signal: Int32?) {
        self = error.isCancelled ? .signal(signal ?? 2) : Self.codes[error.code.description] ?? .source
    }

    /// The statuses of all error codes that are not caused by the network.
    static let codes: [String: Exit] = {
        let usage = [
            "invalidURL", "invalidRequest", "invalidContentType", "invalidHeader", "invalidFieldName",
            "invalidFileName",
            "emptyFieldName", "headerTooLarge", "invalidOptions", "invalidBoundary", "tlsSettingsUnusable",
            "notDurable",
        ]
        let source = [
            "fileNotFound", "notARegularFile", "fileNotReadable", "readFailed", "preparationFailed", "notAJPEG",
            "empty",
            "truncated", "corrupt", "noPixels", "tooManyPixels", "tooManyBytes", "tooManyScans", "unsupportedPrecision",
            "unsupportedProcess", "unsupportedComponents", "cannotReachLimit", "decoderFailed",
        ]
        let fatal = [
            "certificateNotTrusted", "outOfMemory", "boundaryInContent", "diskFull", "writeFailed",
            "decoderUnavailable",
        ]
        var table: [String: Exit] = ["sourceChanged": .sourceChanged]
        for name in usage { table[name] = .usage }
        for name in source { table[name] = .source }
        for name in fatal { table[name] = .fatal }
        return table
    }()
}

/// An error of a command, with its exit status.
struct CommandFailure: Error, Sendable, Hashable {
    /// The type of a failure, as printed by `--json`.
    struct Code: Sendable, Hashable, CustomStringConvertible {
        let description: String
        init(_ name: String) { description = name }

        /// An argument is invalid.
        static let usage = Code("usage")
        /// An input file can't be read.
        static let fileNotReadable = Code("fileNotReadable")
        /// A file does not exist.
        static let fileNotFound = Code("fileNotFound")
        /// A file already exists at the output path.
        static let fileExists = Code("fileExists")
        /// A file or standard output can't be written.
        static let writeFailed = Code("writeFailed")
    }

    /// The type of the failure.
    var code: Code
    /// The exit status of the command.
    var exit: Exit
    /// The error and the remedy, without any value that may be secret.
    var message: String

    /// Returns an error for an invalid argument.
    static func usage(_ message: String) -> CommandFailure {
        CommandFailure(code: .usage, exit: .usage, message: message)
    }

    /// The members of the JSON summary when nothing was sent.
    var members: JSONObject {
        let error: JSONObject = ["code": code.description, "message": message, "part": JSONValue.null]
        return ["result": "failed", "exit": exit, "outcome": "notSent", "error": error]
    }
}

extension CommandFailure {
    /// Whether the failure was detected before anything was sent.
    var isPreflightFailure: Bool { exit == .usage || exit == .source }
}

extension AsyncParsableCommand {
    /// Runs the work of a command and exits with its status. With `--json`, a failure is also written as the summary,
    /// unless `isReported` says that the summary was already written.
    func finishing(
        _ isJSON: Bool, isReported: (CommandFailure) -> Bool = { $0.code != .writeFailed },
        _ work: () async throws(CommandFailure) -> Exit
    ) async throws {
        let exit: Exit
        do throws(CommandFailure) {
            exit = try await work()
        } catch {
            if isJSON, isReported(error) { try? JSONOutput(.standard).write("summary", error.members) }
            throw error
        }
        if exit != .done { throw ExitCode(exit.rawValue) }
    }
}
