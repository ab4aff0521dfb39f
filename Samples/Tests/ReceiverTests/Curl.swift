import Foundation
import Synchronization

/// The answer of the backend as a test reads it.
struct Answer: Decodable {
    struct Content: Decodable {
        let FIELDS: [Field]
        let FILES: [File]
    }

    struct Field: Decodable, Equatable {
        let name: String
        let value: String
    }

    struct File: Decodable {
        let name: String
        let fileName: String
        let type: String
        let bytes: Int
        let sha256: String
        let width: Int?
        let height: Int?
    }

    let RETCODE: String
    let RETMSG: String
    let DATA: Content?
}

/// What a real client got.
struct Exchange {
    let exitCode: Int32
    let status: Int
    let body: Data

    func answer() throws -> Answer { try JSONDecoder().decode(Answer.self, from: body) }
}

/// Runs a program to its end, off the threads that tests run on.
func run(
    _ program: String, _ arguments: [String], environment: [String: String] = [:]
) async throws -> (exitCode: Int32, output: Data) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    return await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            let output = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
            process.waitUntilExit()
            continuation.resume(returning: (process.terminationStatus, output))
        }
    }
}

/// Ends a program for good: what `Process` starts may have `SIGTERM` blocked, as the thread has that started it.
func kill(_ process: Process) {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
}

/// Posts with curl(1).
func curl(_ arguments: String..., to url: String) async throws -> Exchange {
    try await curl(arguments: arguments, to: url)
}

func curl(arguments: [String], to url: String) async throws -> Exchange {
    let (code, output) = try await run("curl", ["-s", "-w", "\n%{http_code}"] + arguments + [url])
    let end = output.lastIndex(of: UInt8(ascii: "\n")) ?? output.startIndex
    return Exchange(
        exitCode: code, status: Int(String(decoding: output[end...].dropFirst(), as: UTF8.self)) ?? 0,
        body: output[..<end])
}

/// The command `waybill`, which is built beside the tests.
let commandPath = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "waybill").path
