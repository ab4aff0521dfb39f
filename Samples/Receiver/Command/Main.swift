import Foundation
import ReceiverKit

/// Runs the backend until it is told to stop (`SIGINT`, `SIGTERM`).
@main
struct Command {
    private static let specimen = "specimen-token"

    static func main() async {
        var configuration = Receiver.Configuration(token: specimen)
        var arguments = CommandLine.arguments.dropFirst()
        while let option = arguments.popFirst() {
            guard let value = arguments.popFirst(), apply(option, value, to: &configuration) else {
                print("usage: Receiver [--port N] [--token TEXT] [--directory DIR] [--limit BYTES]")
                exit(64)
            }
        }
        let signals = StopSignals()
        do {
            let receiver = try await Receiver.start(configuration)
            print("listening on \(receiver.url), files in \(receiver.directory)")
            // The token of everybody's tries may stand in a link; one that was chosen is typed by who knows it.
            let token = configuration.token == specimen ? "&token=\(specimen)" : ""
            print("page: \(receiver.page)\(token)")
            fflush(nil)
            await signals.wait()
            await receiver.stop()
        } catch {
            // To the standard error: a program that reads the addresses must not mistake this line for them.
            FileHandle.standardError.write(Data("Receiver: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func apply(_ option: String, _ value: String, to configuration: inout Receiver.Configuration) -> Bool
    {
        switch (option, Int(value)) {
        case ("--token", _): configuration.token = value
        case ("--directory", _): configuration.directory = value
        case ("--limit", let limit?) where limit > 0: configuration.sizeLimit = limit
        case ("--port", let port?) where (0...65_535).contains(port): configuration.port = UInt16(port)
        default: return false
        }
        return true
    }
}
