import Foundation
import HTTPTypes
import TestSupport
import Testing
import WaybillCore

/// Compares the outcome tables of the documents with the code.
@Suite struct OutcomeTableTests {
    /// A row of the documented table.
    struct Row: Hashable, CustomStringConvertible {
        var response: String
        var isAcknowledged: String
        var isBodyComplete: String
        var outcome: String
        var description: String { "| \(response) | \(isAcknowledged) | \(isBodyComplete) | \(outcome) |" }
    }

    /// One combination of all inputs of the outcome.
    struct Attempt: CustomStringConvertible {
        var evidence: TransferCounters
        var status: Int?
        var isResponseComplete: Bool
        var description: String { "\(evidence), status \(status as Any), complete: \(isResponseComplete)" }
    }

    private static let head = "| Response | Request acknowledged | Whole body handed to the kernel | Outcome |"

    @Test(arguments: ["Sources/Waybill/Waybill.docc/Outcomes.md", "Sources/WaybillCore/UploadOutcome.swift"])
    func `each document has the outcome table of the code`(path: String) throws {
        let rows = try Self.rows(of: path)
        #expect(rows.count == 9)
        for attempt in Self.attempts {
            let row = try #require(rows.first { Self.fits($0, attempt) }, "no row for \(attempt)")
            let outcome = UploadOutcome(
                of: attempt.evidence, status: attempt.status.map { HTTPResponse.Status(code: $0) },
                isResponseComplete: attempt.isResponseComplete)
            #expect(Self.name(outcome) == row.outcome, "\(attempt) is \(row)")
        }
        for row in rows { #expect(Self.attempts.contains { Self.fits(row, $0) }, "nothing fits \(row)") }
        #expect(try rows == Self.rows(of: "Sources/WaybillCore/UploadOutcome.swift"))
    }

    private static let attempts: [Attempt] = {
        let bools = [false, true]
        var attempts: [Attempt] = []
        for acknowledged in bools {
            for whole in bools {
                for reused in bools {
                    var evidence = TransferCounters(
                        announced: 10, sent: whole ? 10 : 5, requestAcknowledged: acknowledged, isBodyComplete: whole,
                        isConnectionReused: reused)
                    attempts.append(Attempt(evidence: evidence, status: nil, isResponseComplete: false))
                    evidence.sawResponseHead = true
                    for status in [200, 204, 302, 307, 400, 401, 408, 413, 425, 429, 500, 501, 502, 503, 504, 511, 520]
                    {
                        attempts.append(Attempt(evidence: evidence, status: status, isResponseComplete: false))
                        attempts.append(Attempt(evidence: evidence, status: status, isResponseComplete: true))
                    }
                }
            }
        }
        return attempts
    }()

    private static func fits(_ row: Row, _ attempt: Attempt) -> Bool {
        let response =
            switch row.response {
            case "none": attempt.status == nil
            case "2xx": attempt.status.map { (200...299).contains($0) } ?? false
            case "cut short, 408, or 5xx that does not refuse the request":
                attempt.status.map { !attempt.isResponseComplete || [408, 500, 502, 504, 520].contains($0) } ?? false
            case "another": attempt.status != nil
            default: false
            }
        let whole =
            switch row.isBodyComplete {
            case "yes, on a reused connection":
                attempt.evidence.isBodyComplete && attempt.evidence.isConnectionReused
            default: fits(row.isBodyComplete, attempt.evidence.isBodyComplete)
            }
        return response && fits(row.isAcknowledged, attempt.evidence.requestAcknowledged) && whole
    }

    private static func fits(_ cell: String, _ value: Bool) -> Bool { cell == "any" || cell == (value ? "yes" : "no") }

    private static func name(_ outcome: UploadOutcome) -> String {
        switch outcome {
        case .notSent: "`notSent`"
        case .incomplete: "`incomplete`"
        case .rejected: "`rejected`"
        case .unknown: "`unknown`"
        case .processed: "`processed`"
        }
    }

    private static func rows(of path: String) throws -> [Row] {
        let text = try String(contentsOfFile: ProjectRoot.file(path), encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: CharacterSet(charactersIn: "/ "))
        }
        let start = try #require(lines.firstIndex(of: Self.head), "\(path) has no table of outcomes")
        return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return Row(response: cells[0], isAcknowledged: cells[1], isBodyComplete: cells[2], outcome: cells[3])
        }
    }
}
