import TestSupport

/// The fault injected into the worker at the n-th call that changes a file or sends data (`COutboxFaults.h`).
struct FaultPoint: Sendable, CustomStringConvertible {
    enum Fault: Sendable, Equatable {
        /// SIGKILL before the call.
        case kill
        /// SIGKILL after half of the bytes, or after a call without bytes.
        case tear
        case fail(Int32)
    }

    var fault: Fault
    /// Counted from 1.
    var first: Int
    /// How many consecutive calls fail.
    var times = 1
    var calls = Self.everything

    static let everything = "cwsturn"
    static let disk = "cwstur"

    var description: String { order }

    private var order: String {
        switch fault {
        case .kill: "kill:\(calls):\(first):1"
        case .tear: "tear:\(calls):\(first):1"
        case .fail(let number): "\(number):\(calls):\(first):\(times)"
        }
    }

    /// Starts the worker with the fault.
    func start(_ arguments: [String]) throws -> ChildProcess {
        try ChildProcess("env", ["SWIFT_BACKTRACE=enable=no", "WAYBILL_FAULT=\(order)", KillRun.worker] + arguments)
    }

    /// The number of such calls in a run of the worker without faults.
    static func count(_ arguments: [String], calls: String = everything) async throws -> Int {
        let run = try await ChildProcess.run(
            "env", ["WAYBILL_FAULT=0:\(calls):1:0", "WAYBILL_FAULT_REPORT=1", KillRun.worker] + arguments)
        guard run.exit == .status(0),
            let line = run.errorText.split(separator: "\n").last(where: { $0.hasPrefix("calls: ") }),
            let count = Int(line.dropFirst(7)), count > 0
        else { throw MissingCount(output: run.text + run.errorText) }
        return count
    }

    struct MissingCount: Error {
        let output: String
    }
}

extension ChildProcess.Finished {
    /// The ids that the worker reported: complete lines only.
    var reportedIDs: [Int64] { completeLines.compactMap { Int64($0) } }

    /// The error codes that it reported.
    var errorCodes: [String] { completeLines.filter { $0.hasPrefix("! ") }.map { String($0.dropFirst(2)) } }

    var completeLines: [Substring] {
        guard let end = text.lastIndex(of: "\n") else { return [] }
        return text[...end].split(separator: "\n")
    }
}

/// Runs the work for many points, a few of them concurrently.
func forEachPoint<Point: Sendable>(
    _ points: [Point], _ work: @escaping @Sendable (Point) async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, point) in points.enumerated() {
            if index >= 4 { try await group.next() }
            group.addTask { try await work(point) }
        }
        try await group.waitForAll()
    }
}
