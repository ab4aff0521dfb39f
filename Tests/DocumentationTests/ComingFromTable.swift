/// The tables of a guide for those who come from another library: their name, ours, and what to mind.
///
/// The cell of ours is either code spans, one for each line of code with `<br>` between them, or the word `none`. A single
/// span that begins with `waybill` is a command line.
struct ComingFromTable {
    struct Row: Equatable {
        /// In the Markdown file.
        var line: Int
        /// Their names, without the marks of code.
        var theirs: String
        /// The lines of code; `nil` without code.
        var code: [String]?
        /// What there is to mind, or to do instead.
        var note: String

        /// The command line that stands in the place of code.
        var commandLine: String? { code.flatMap { $0.count == 1 && $0[0].hasPrefix("waybill ") ? $0[0] : nil } }
    }

    var rows: [Row] = []
    /// What can't be read, each with its line.
    var complaints: [String] = []

    init(_ markdown: String) {
        var isTable = false
        for (index, line) in markdown.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard line.hasPrefix("|") else {
                isTable = false
                continue
            }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { Self.trimmed($0) }
            guard cells.count == 3 else {
                complaints.append("line \(index + 1): \(cells.count) cells, not three: no cell may hold a bar")
                continue
            }
            if !isTable {
                isTable = true
                if cells[1] != "Waybill" { complaints.append("line \(index + 1): the second column is not Waybill's") }
            } else if cells[1] != "---" {
                read(cells, line: index + 1)
            }
        }
    }

    private mutating func read(_ cells: [String], line: Int) {
        // Names on several lines of a cell are separated by commas in the region's name.
        let theirs = cells[0].replacing("<br>", with: ", ").filter { $0 != "`" }
        var row = Row(line: line, theirs: theirs, code: nil, note: cells[2])
        if row.theirs.isEmpty { complaints.append("line \(line): no name of theirs") }
        if cells[1] == "none" {
            if row.note.isEmpty { complaints.append("line \(line): none, and nothing to do instead") }
        } else if let code = Self.code(of: cells[1]) {
            row.code = code
        } else {
            complaints.append("line \(line): neither code nor \"none\": \(cells[1])")
        }
        rows.append(row)
    }

    /// The code of a cell that holds nothing else; `nil` for any other.
    private static func code(of cell: String) -> [String]? {
        var lines: [String] = []
        for piece in cell.split(separator: "<br>", omittingEmptySubsequences: false) {
            let span = trimmed(piece)
            guard span.count > 2, span.first == "`", span.last == "`" else { return nil }
            let line = span.dropFirst().dropLast()
            guard !line.contains("`") else { return nil }
            lines.append(String(line))
        }
        return lines
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
