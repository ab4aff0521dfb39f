import FoundationEssentials
import Waybill

/// Standard output as a stream of JSON lines.
struct JSONOutput: Sendable {
    private let console: Console

    init(_ console: Console) {
        self.console = console
    }

    /// Writes a line. Secrets that the command knows are taken out of every text but the server's answer.
    ///
    /// - Throws: ``CommandFailure/Code/writeFailed`` when nobody takes it.
    func write(_ event: String, _ members: [JSONMember], answer: [JSONMember] = []) throws(CommandFailure) {
        let line = JSONLine(event: event, members: members.map(scrubbed) + answer)
        let time = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        try StandardOutput.write(Array(line.text(time: time).utf8))
    }

    private func scrubbed(_ member: JSONMember) -> JSONMember {
        JSONMember(member.name, scrubbed(member.value))
    }

    private func scrubbed(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(console.scrubbed(text))
        case .array(let values): .array(values.map(scrubbed))
        case .object(let members): .object(members.map(scrubbed))
        case .null, .bool, .int, .double: value
        }
    }
}

/// Standard output.
enum StandardOutput {
    /// - Throws: ``CommandFailure/Code/writeFailed`` when nobody takes the bytes.
    static func write(_ bytes: [UInt8]) throws(CommandFailure) {
        let code = Output.write(bytes, to: 1)
        guard code == 0 else {
            throw CommandFailure(
                code: .writeFailed, exit: .fatal,
                message: "standard output can't be written: \(SystemText.of(code)).")
        }
    }
}
