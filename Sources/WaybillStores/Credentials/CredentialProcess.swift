import Glibc
import WaybillCore

/// A command that prints credentials, run without a shell.
///
/// Its standard input is empty, its standard error is discarded (it may contain secrets), and it is killed with its
/// process group when the time limit is exceeded.
struct CredentialProcess: Sendable {
    let arguments: [String]
    let limit: Duration

    private static let longest = 64 << 10

    /// Runs the command and parses its output as credentials.
    func run() async throws(StoreError) -> StoreCredentials {
        let output = try await BlockingThread.run { () throws(StoreError) in try self.output() }
        return try StoreCredentials(json: output)
    }

    private func output() throws(StoreError) -> [UInt8] {
        guard arguments.first?.utf8.first == UInt8(ascii: "/") else {
            throw failure("the path is not absolute. Specify the absolute path of the command.")
        }
        let (end, bytes) = try start().wait(limit: limit, longest: Self.longest)
        switch end {
        case .exited(0): return bytes
        case .exited(let status): throw failure("it exited with status \(status). \(Self.manually)")
        case .killed(let signal): throw failure("it was killed by signal \(signal). \(Self.manually)")
        case .outputExceeded: throw failure("its output exceeds 64 KiB.")
        case .timedOut, .stopped:
            throw StoreError(
                .credentialsTimedOut, "\(name) exceeded the time limit of \(limit). Check why it hangs.")
        }
    }

    private static let manually = "Run the command manually to see its error output."

    private func start() throws(StoreError) -> ProcessGroup {
        do throws(SystemError) {
            let pipe = try ProcessGroup.Pipe()
            let child = try ProcessGroup.start(arguments, input: nil, output: pipe.writer.raw, errors: nil)
            return ProcessGroup(child, output: pipe.reader)
        } catch {
            throw failure("the command can't be started (errno \(error.number)).")
        }
    }

    private var name: String { "The credential command \(StoreError.shown(arguments.first ?? "", atMost: 100))" }

    private func failure(_ reason: String) -> StoreError {
        StoreError(.credentialsUnavailable, "\(name) returned no credentials: \(reason)")
    }
}

extension CredentialProvider {
    /// Returns a provider that runs a command and parses its output as JSON in one of the formats of
    /// ``StoreCredentials/init(json:)``. Credentials are cached and renewed before they expire.
    ///
    /// ```swift
    /// let credentials: CredentialProvider = .process(["/usr/local/bin/oss-login", "--role", "uploader"])
    /// ```
    ///
    /// - Parameters:
    ///   - arguments: The absolute path of the command, followed by its arguments. They are not interpreted by a shell.
    ///   - pace: The timing of fetches; the command is killed after ``CredentialPace/limit``.
    /// - Returns: A provider with a cache. Create it only once.
    public static func process(
        _ arguments: [String], pace: CredentialPace = CredentialPace()
    ) -> CredentialProvider {
        let process = CredentialProcess(arguments: arguments, limit: pace.limit)
        return .federated(pace: pace) { try await process.run() }
    }
}
