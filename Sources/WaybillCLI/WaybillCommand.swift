import WaybillCore
import ArgumentParser
import Glibc
import Waybill
import WaybillCurl
import WaybillOutbox

/// The command line: `waybill post`, `waybill put`, `waybill outbox`, `waybill form`, `waybill shrink`, `waybill doctor`.
@main
struct WaybillCommand: AsyncParsableCommand {
    /// The version of the package. `CHANGELOG.md` and the packages of `make dist` use the same one.
    static let version = "0.1.0"

    /// The versions of the program and of the loaded libraries, as printed by `--version`.
    static var versions: String {
        let curl = CurlLibrary.loaded
        let libraries = ["libcurl/\(curl.version)"] + [curl.tls].compactMap(\.self)
        return """
            waybill \(version)
            \(libraries.joined(separator: " ")) libjpeg-turbo/\(JPEGLibrary.version) SQLite/\(SQLiteLibrary.version)
            """
    }

    static let configuration = CommandConfiguration(
        commandName: "waybill",
        abstract:
            "Uploads forms and files with acknowledged progress and known outcomes, and compresses photos to a size.",
        discussion: """
            EXAMPLES:
              waybill post https://backend.example/upload -F 'TOKEN=<token.txt' \\
                -F 'front=@card.jpg;filename=IDFrontImage.jpg' --max-bytes front=100KiB
              waybill put -r photos oss://bucket/2026/ --region cn-hangzhou
              waybill post https://backend.example/upload -F 'front=@card.jpg' --queue
              waybill outbox run --until-idle
              waybill shrink card.jpg --max-bytes 100KiB
              waybill doctor

            EXIT STATUS:
            \(Exit.table)
            """,
        version: versions,
        subcommands: [
            PostCommand.self, PutCommand.self, OutboxCommand.self, FormCommand.self, ShrinkCommand.self,
            DoctorCommand.self, ManualCommand.self,
        ])

    /// Replaces ArgumentParser's `main`, which exits with 64 for invalid usage: scripts written for curl expect 2.
    static func main() async {
        // Report a write to a closed pipe as an error instead of ending by SIGPIPE.
        _ = signal(SIGPIPE, SIG_IGN)
        Remedy.register(\.shell)
        do {
            let call = try await ParsedCall(ProgramArguments.all, of: Self.self)
            if let warning = call.warning { Console.standard.line(warning) }
            if var command = call.command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                var command = call.command
                try command.run()
            }
        } catch let failure as CommandFailure {
            Console.standard.failure(failure.message)
            Glibc.exit(failure.exit.rawValue)
        } catch let code as ArgumentParser.ExitCode {
            Glibc.exit(code.rawValue)
        } catch {
            let code = exitCode(for: error)
            if code == .success {
                print(CompletionScript.completingPathsInWords(fullMessage(for: error)))
                Glibc.exit(0)
            }
            Console.standard.block(fullMessage(for: error))
            Glibc.exit(code == .validationFailure ? Exit.usage.rawValue : Exit.fatal.rawValue)
        }
    }
}
