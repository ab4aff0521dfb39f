import CBench
import Waybill

/// A form of ten times the parts must not cost more than eleven times the work.
///
/// Counted in instructions where the processor's counters can be had, else in CPU time. Both sides build as many parts
/// in all, in forms of different sizes, so that what a process costs to start weighs the same.
enum PartCount {
    private static let partsInAll = 200_000

    /// Builds forms of so many small parts and reads their bytes.
    ///
    /// - Returns: How many bytes that were, and how many instructions, or 0 if nobody counts them.
    static func build(_ count: Int) async throws -> String {
        let counter = bench_count_instructions()
        var bytes = 0
        for _ in 0..<partsInAll / count {
            for try await chunk in try await form(count).prepared().chunks { bytes += chunk.count }
        }
        return "\(bytes) \(bench_instructions(counter))"
    }

    private static func form(_ count: Int) -> MultipartForm {
        var form = MultipartForm()
        for index in 0..<count {
            if index.isMultiple(of: 2) {
                form.append(.text("field\(index)", "value \(index)"))
            } else {
                form.append(.data("file\(index)", [1, 2, 3], fileName: "\(index).jpg"))
            }
        }
        return form
    }

    static func measure(rounds: Int) throws(BenchError) -> String {
        var small: [Cost] = []
        var large: [Cost] = []
        for _ in 0..<rounds {
            small.append(try Cost(parts: 1_000))
            large.append(try Cost(parts: 10_000))
        }
        let isCounted = (small + large).allSatisfy { $0.instructions > 0 }
        let figure = { (cost: Cost) in isCounted ? cost.instructions / 1e6 : cost.milliseconds }
        let forms = Double(partsInAll)
        let before = small.map(figure).median / forms * 1_000
        let after = large.map(figure).median / forms * 10_000
        let unit = isCounted ? " M" : " ms"
        var table = Table([
            "To build and read a form, \(rounds) rounds", "1,000 parts", "10,000 parts", "ratio", "target",
        ])
        table.add([
            isCounted ? "instructions" : "CPU, user and system (no counter of instructions here)",
            before.fixed(2) + unit, after.fixed(2) + unit, (after / before).fixed(2),
            "<= 11.00" + (after / before > 11 ? " missed" : ""),
        ])
        return table.text
    }

    /// What one process cost.
    private struct Cost {
        let milliseconds: Double
        let instructions: Double

        init(parts: Int) throws(BenchError) {
            // The errand has no URL and no file.
            let run = try Child.run(Child.ownPath, [Errand.Kind.build.rawValue, "-", "-", String(parts)])
            let numbers = run.output.split { $0 == " " || $0 == "\n" }.compactMap { Double($0) }
            guard numbers.count == 2, numbers[0] > Double(PartCount.partsInAll) * 50 else {
                throw BenchError("\(run.output) is not what so many parts come to.")
            }
            milliseconds = run.cpu.seconds * 1_000
            instructions = numbers[1]
        }
    }
}
