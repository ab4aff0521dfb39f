import Foundation
import Glibc

/// A worker in its own process.
struct WorkerProcess {
    private let process = Process()
    /// The standard input of the worker. The kernel closes it when this process ends, even by a signal; the worker then
    /// exits.
    private let input = Pipe()

    /// Starts this program as a worker.
    init(outbox: String, token: String) throws {
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--work", outbox]
        // In the environment: all users can read the arguments of a process.
        process.environment = ProcessInfo.processInfo.environment.merging(["KIOSK_TOKEN": token]) { $1 }
        process.standardInput = input
        try process.run()
    }

    /// Exits immediately when the parent process has ended. To be called in the worker; the queue tolerates a crash.
    static func endWithParent() {
        Thread.detachNewThread {
            _ = try? FileHandle.standardInput.readToEnd()
            _exit(0)
        }
    }

    /// The process identifier.
    var number: Int32 { process.processIdentifier }

    /// Sends SIGKILL, which the worker cannot catch, and waits for its end.
    func kill() {
        Glibc.kill(number, SIGKILL)
        process.waitUntilExit()
    }

    /// Sends SIGTERM and waits until the worker exits.
    ///
    /// - Returns: The exit status, or `nil` if a signal ended the process.
    func terminate() -> Int32? {
        Glibc.kill(number, SIGTERM)
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : nil
    }
}
