import Foundation
import Synchronization

/// The envelope of the backend.
struct Envelope: Decodable {
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

/// The result of curl(1).
struct Exchange {
    let exitCode: Int32
    let status: Int
    let body: Data

    func envelope() throws -> Envelope { try JSONDecoder().decode(Envelope.self, from: body) }
}

/// Runs a program to its end, on its own thread.
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

/// Sends SIGKILL to a program: a child of `Process` may inherit a blocked `SIGTERM` from the thread that started it.
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

/// The command `waybill`, built in the same directory as the tests.
let commandPath = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "waybill").path
