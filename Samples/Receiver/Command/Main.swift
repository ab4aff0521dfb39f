import Foundation
import ReceiverKit

/// Runs the backend until `SIGINT` or `SIGTERM`.
@main
struct Command {
    private static let defaultToken = "specimen-token"

    static func main() async {
        var configuration = Receiver.Configuration(token: defaultToken)
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
            // Only the public default token is part of the link; any other token must be typed.
            let token = configuration.token == defaultToken ? "&token=\(defaultToken)" : ""
            print("page: \(receiver.page)\(token)")
            fflush(nil)
            await signals.wait()
            await receiver.stop()
        } catch {
            // To standard error, because programs parse the addresses on standard output.
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
