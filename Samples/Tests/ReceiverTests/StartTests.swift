import Foundation
import ReceiverKit
import Testing

/// What prevents a Receiver from starting is reported immediately, in one line.
@Suite(.timeLimit(.minutes(1)))
struct StartTests {
    @Test func `a port in use is named with the remedy`() async throws {
        try await withReceiver { first, _ in
            let port = try #require(URL(string: first.url)?.port)
            let error = await #expect(throws: ReceiverError.self) {
                try await Receiver.start(.init(token: "right", port: UInt16(port)))
            }
            #expect(
                error?.description == """
                    Port \(port) of 127.0.0.1 is in use, perhaps by another Receiver. Stop that program, or choose \
                    another port with --port; --port 0 takes a free one.
                    """)
        }
    }

    @Test func `a second run of the command on the same port ends with one line and status 1`() async throws {
        try await withReceiver { first, _ in
            let port = try #require(URL(string: first.url)?.port)
            let run = try await run("sh", ["-c", "'\(RunningReceiver.path)' --port \(port) 2>&1"])
            let output = String(decoding: run.output, as: UTF8.self)
            #expect(run.exitCode == 1)
            #expect(output.hasPrefix("Receiver: Port \(port) of 127.0.0.1 is in use"))
            #expect(output.split(separator: "\n").count == 1)
        }
    }

    @Test func `a missing directory is named before anything listens`() async throws {
        let scratch = try Scratch()
        defer { scratch.remove() }
        let missing = scratch.path("missing")
        let error = await #expect(throws: ReceiverError.self) {
            try await Receiver.start(.init(token: "right", directory: missing))
        }
        #expect(error?.description == "The directory \(missing) does not exist. Create it, or leave out --directory.")
    }

    @Test func `a file in place of the directory is named`() async throws {
        let scratch = try Scratch()
        defer { scratch.remove() }
        let file = try scratch.write("file", Data())
        let error = await #expect(throws: ReceiverError.self) {
            try await Receiver.start(.init(token: "right", directory: file))
        }
        #expect(
            error?.description == "\(file) is not a directory. Name one with --directory, or leave the option out.")
    }
}
