import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import WaybillOutbox

/// Power cuts while uploads are enqueued. `WAYBILL_TORTURE=1` makes it twenty times as long.
@Suite(.serialized, .timeLimit(.minutes(60 * Slowness.factor))) struct PowerCutTests {
    private struct Report: Decodable {
        var skipped: String?
        var cuts: Int?
        /// The number of items that were reported as enqueued.
        var reported: Int?
        var lost: Int?
        var damaged: [String]?
    }

    private static let cuts = unsafe getenv("WAYBILL_TORTURE") == nil ? 50 : 1_000

    @Test func `reported items survive a power cut`() async throws {
        guard let report = try await cut("add", Self.cuts) else { return }
        #expect(report.lost == 0 && report.damaged == [] && report.cuts == Self.cuts)
        #expect(report.reported ?? 0 > Self.cuts)
    }

    @Test func `weaker syncing loses items in a power cut (control)`() async throws {
        guard let report = try await cut("weak", 20) else { return }
        #expect(report.lost ?? 0 > 0)
    }

    /// - Returns: `nil` if this machine does not permit it; the reason is printed.
    private func cut(_ mode: String, _ cuts: Int) async throws -> Report? {
        var random = SeededGenerator()
        let seed = UInt32.random(in: .min ... .max, using: &random)
        let run = try await ChildProcess.run(
            "python3", [ProjectRoot.file("Scripts/powercut"), KillRun.worker, mode, "\(cuts)", "\(seed)"])
        print("power cuts, \(mode): \(run.text)", terminator: "")
        try #require(!run.output.isEmpty, "\(run.errorText)")
        let report = try JSONDecoder().decode(Report.self, from: Data(run.output))
        if let reason = report.skipped {
            #expect(run.exit == .status(77))
            print("power cuts were not tried: \(reason)")
            return nil
        }
        #expect(run.exit == .status(0), "\(run.errorText)")
        return report
    }
}
