import Foundation
import Glibc

/// A worker in a process of its own.
struct WorkerProcess {
    private let process = Process()
    /// The worker's standard input. It closes when this process ends, however it ends, and so does the worker then.
    private let leash = Pipe()

    /// Starts this very program as a worker.
    init(outbox: String, token: String) throws {
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--work", outbox]
        // In the environment, where no other user sees it: arguments are for everybody.
        process.environment = ProcessInfo.processInfo.environment.merging(["KIOSK_TOKEN": token]) { $1 }
        process.standardInput = leash
        try process.run()
    }

    /// In the worker: ends it on the spot when nobody is there any more who started it. The queue bears that.
    static func endWithParent() {
        Thread.detachNewThread {
            _ = try? FileHandle.standardInput.readToEnd()
            _exit(0)
        }
    }

    /// The number of the process.
    var number: Int32 { process.processIdentifier }

    /// Ends it in the middle of whatever it does. It can't see that coming.
    func kill() {
        Glibc.kill(number, SIGKILL)
        process.waitUntilExit()
    }

    /// Asks it to end, and waits until it has.
    ///
    /// - Returns: Its status, or `nil` if a signal ended it.
    func terminate() -> Int32? {
        Glibc.kill(number, SIGTERM)
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : nil
    }
}
