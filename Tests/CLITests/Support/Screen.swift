@testable import WaybillCLI

/// What a person sees of what a program writes to a terminal: returns, line feeds, erasing and moving up are carried out,
/// long lines are wrapped, and wrapped anew when the terminal gets another width, as terminals of our days do.
struct Screen {
    /// Lines as they were written, each of any length.
    private var lines: [[Character]] = [[]]
    private var line = 0
    private var column = 0
    private(set) var columns: Int
    /// What stood there whenever something was about to be erased, and how wide the terminal was.
    private(set) var frames: [(lines: [String], columns: Int)] = []
    /// Sequences that are not known here.
    private(set) var strange: [String] = []

    init(columns: Int) { self.columns = columns }

    /// What stands there, without empty lines at the end.
    var text: [String] {
        var all = lines.map { String($0) }
        while all.last?.isEmpty == true { all.removeLast() }
        return all
    }

    /// The terminal has another width from now on.
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

    /// The row of a place within its line. Behind the last column the cursor stays in its row until more is written.
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

/// Texts of the command without what differs from run to run.
enum Varying {
    /// Rates, times, counts of bytes, percentages, bars and ports as words.
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

    /// The same without rate and time left, which are not there while nothing moves.
    static func still(_ text: String, folder: String? = nil) -> String {
        normalised(text, folder: folder).replacing("  RATE", with: "").replacing("  ETA TIME", with: "")
    }

    /// The percentages of the last line of each frame, in their order.
    static func percentages(_ frames: [(lines: [String], columns: Int)]) -> [Int] {
        frames.compactMap { frame in
            frame.lines.last?.firstMatch(of: /(\d+) %/).flatMap { Int($0.1) }
        }
    }
}
