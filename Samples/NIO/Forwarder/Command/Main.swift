import Glibc
import Hummingbird
import Logging

/// `Forwarder TARGET [PORT]` receives forms at `POST /forward` and forwards their files to another URL.
@main
struct Command {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard let target = arguments.first, let port = Int(arguments.dropFirst().first ?? "0") else {
            print("usage: Forwarder TARGET [PORT]")
            exit(64)
        }
        var logger = Logger(label: "forwarder")
        logger.logLevel = .error
        let application = Application(
            router: Forwarder(target: target).router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in
                print("listening on http://127.0.0.1:\(channel.localAddress?.port ?? port)/forward")
                fflush(nil)
            },
            logger: logger)
        do {
            try await application.runService()
        } catch {
            print("\(error)")
            exit(1)
        }
    }
}
