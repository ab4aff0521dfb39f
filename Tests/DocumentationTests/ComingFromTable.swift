/// The tables of a migration guide: the name in the other library, the Waybill equivalent, and notes.
///
/// The second cell is either code spans, one for each line of code and separated by `<br>`, or the word `none`. A single
/// span that begins with `waybill` is a command line.
struct ComingFromTable {
    struct Row: Equatable {
        /// The line number in the Markdown file.
        var line: Int
        /// The names in the other library, without backticks.
        var theirs: String
        /// The lines of code; `nil` without code.
        var code: [String]?
        /// The note: differences, or an alternative.
        var note: String

        /// The command line, if the cell contains one instead of code.
        var commandLine: String? { code.flatMap { $0.count == 1 && $0[0].hasPrefix("waybill ") ? $0[0] : nil } }
    }

    var rows: [Row] = []
    /// The lines that can't be parsed, with the reasons.
    var problems: [String] = []

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
                problems.append("line \(index + 1): \(cells.count) cells instead of three; a cell must not contain |")
                continue
            }
            if !isTable {
                isTable = true
                if cells[1] != "Waybill" { problems.append("line \(index + 1): the second column must be Waybill") }
            } else if cells[1] != "---" {
                read(cells, line: index + 1)
            }
        }
    }

    private mutating func read(_ cells: [String], line: Int) {
        // Names on several lines of a cell are separated by commas in the region's name.
        let theirs = cells[0].replacing("<br>", with: ", ").filter { $0 != "`" }
        var row = Row(line: line, theirs: theirs, code: nil, note: cells[2])
        if row.theirs.isEmpty { problems.append("line \(line): the first cell is empty") }
        if cells[1] == "none" {
            if row.note.isEmpty { problems.append("line \(line): \"none\" requires a note") }
        } else if let code = Self.code(of: cells[1]) {
            row.code = code
        } else {
            problems.append("line \(line): neither code nor \"none\": \(cells[1])")
        }
        rows.append(row)
    }

    /// Returns the code of a cell that contains only code; otherwise `nil`.
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
