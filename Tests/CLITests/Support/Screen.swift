@testable import WaybillCLI

/// Emulates what a terminal displays: carriage returns, line feeds, erasing and cursor movement are performed; long
/// lines are wrapped, and wrapped again when the width changes, as current terminals do.
struct Screen {
    /// The lines as written, each of any length.
    private var lines: [[Character]] = [[]]
    private var line = 0
    private var column = 0
    private(set) var columns: Int
    /// The lines before each erasure, and the width of the terminal at that time.
    private(set) var frames: [(lines: [String], columns: Int)] = []
    /// The unknown control sequences.
    private(set) var strange: [String] = []

    init(columns: Int) { self.columns = columns }

    /// The lines on the screen, without empty lines at the end.
    var text: [String] {
        var all = lines.map { String($0) }
        while all.last?.isEmpty == true { all.removeLast() }
        return all
    }

    /// Changes the width of the terminal.
    mutating func resize(to columns: Int) { self.columns = columns }

    mutating func feed(_ text: String) {
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r": column = row(of: column) * columns
            case "\n":
                line += 1
                if line == lines.count { lines.append([]) }
                column = 0
            case "\u{1B}": carryOut(&rest)
            default: put(Character(scalar))
            }
        }
    }

    /// A control sequence (ECMA-48): `ESC [`, digits, a letter.
    private mutating func carryOut(_ rest: inout Substring.UnicodeScalarView) {
        guard rest.first == "[" else { return strange.append("ESC") }
        rest.removeFirst()
        var digits = ""
        while let scalar = rest.first, scalar.properties.numericType != nil || scalar == ";" {
            digits.unicodeScalars.append(scalar)
            rest.removeFirst()
        }
        switch rest.popFirst() {
        case "K":
            noteFrame()
            lines[line].removeSubrange(min(column, lines[line].count)...)
        case "A": moveUp(Int(digits) ?? 1)
        case "J":
            lines[line].removeSubrange(min(column, lines[line].count)...)
            lines.removeSubrange((line + 1)...)
        case "m": break
        case let other: strange.append(digits + (other.map { String($0) } ?? ""))
        }
    }

    private mutating func put(_ character: Character) {
        if column < lines[line].count { lines[line][column] = character } else { lines[line].append(character) }
        column += 1
    }

    /// Returns the row of a column within its line. After the last column the cursor stays in its row until more is
    /// written.
    private func row(of column: Int) -> Int {
        column > 0 && column % columns == 0 ? column / columns - 1 : column / columns
    }

    private mutating func moveUp(_ count: Int) {
        noteFrame()
        var left = count
        while left > 0 {
            if column >= columns {
                column -= columns
            } else if line > 0 {
                line -= 1
                column = row(of: lines[line].count) * columns
            }
            left -= 1
        }
    }

    private mutating func noteFrame() { frames.append((text, columns)) }
}

/// Replaces the parts of the program's output that vary between runs.
enum Varying {
    /// Replaces rates, times, byte counts, percentages, bars and ports with placeholders.
    static func normalised(_ text: String, folder: String? = nil) -> String {
        var text = folder.map { text.replacing($0, with: "FOLDER") } ?? text
        text = text.replacing(/\d+(\.\d+)? (B|KiB|MiB)\/s/, with: "RATE")
        text = text.replacing(/\d+(\.\d+)? ((B|KiB|MiB) )?of \d+(\.\d+)? (B|KiB|MiB)/, with: "BYTES")
        text = text.replacing(/ETA [0-9:]+/, with: "ETA TIME")
        text = text.replacing(/\d+(\.\d+)? (B|KiB|MiB)/, with: "BYTES")
        text = text.replacing(/\d+(\.\d+)? s\b/, with: "TIME")
        text = text.replacing(/\d+ %/, with: "N %")
        text = text.replacing(/\[=*>? *\]/, with: "[BAR]")
        return text.replacing(/127\.0\.0\.1:\d+/, with: "SERVER")
    }

    /// Also removes rate and remaining time, which are absent while nothing is transferred.
    static func still(_ text: String, folder: String? = nil) -> String {
        normalised(text, folder: folder).replacing("  RATE", with: "").replacing("  ETA TIME", with: "")
    }

    /// Returns the percentages in the last line of each frame, in order.
    static func percentages(_ frames: [(lines: [String], columns: Int)]) -> [Int] {
        frames.compactMap { frame in
            frame.lines.last?.firstMatch(of: /(\d+) %/).flatMap { Int($0.1) }
        }
    }
}
