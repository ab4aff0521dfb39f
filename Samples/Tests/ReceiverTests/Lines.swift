import Foundation

/// A running program whose output is read line by line.
final class Lines: Sendable {
    let lines: AsyncStream<String>
    private let process: Process

    /// Starts a program by name or by path.
    init(_ program: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        self.process = process
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        try process.run()
        Thread.detachNewThread {
            var bytes = Data()
            while case let more = pipe.fileHandleForReading.availableData, !more.isEmpty {
                bytes += more
                while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: bytes[..<end], as: UTF8.self))
                    bytes = Data(bytes[(end + 1)...])
                }
            }
            process.waitUntilExit()
            continuation.finish()
        }
    }

    func stop() { kill(process) }

    /// Sends SIGINT and waits for the end of the program.
    func interrupt() async {
        process.interrupt()
        for await _ in lines {}
    }
}
