import Waybill

/// A form of ten times the parts must not cost more than eleven times the instructions.
enum PartCount {
    /// Builds forms of so many small parts and reads their bytes.
    ///
    /// - Returns: How many bytes that were.
    static func build(_ parts: Int, forms: Int) async throws -> Int {
        var bytes = 0
        for _ in 0..<forms {
            for try await chunk in try await form(parts).prepared().chunks { bytes += chunk.count }
        }
        return bytes
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

    static func measure() throws(BenchError) -> String {
        guard Child.isInstalled("valgrind") else { return "Instructions of a form: not counted without valgrind." }
        let program = try Child.withoutDebugInformation(Child.ownPath)
        // What one form more costs: what a process costs to start is not in the difference.
        func each(_ parts: Int, forms: Int) throws(BenchError) -> Double {
            let words = [Errand.Kind.build.rawValue, "-", "-", "\(parts)"]
            let one = try Child.instructions(program.path, words + ["1"])
            let more = try Child.instructions(program.path, words + ["\(1 + forms)"])
            return Double(more - one) / Double(forms) / 1e6
        }
        let small = try each(1_000, forms: 10)
        let large = try each(10_000, forms: 1)
        var table = Table(["To build and read a form", "1,000 parts", "10,000 parts", "ratio", "target"])
        table.add([
            "instructions, user space", small.fixed(2) + " M", large.fixed(2) + " M", (large / small).fixed(2),
            "<= 11.00" + (large / small > 11 ? " missed" : ""),
        ])
        return table.text
    }
}
