/// Letters as pen strokes on a grid of 4 by 6.
///
/// A glyph is a list of strokes; a stroke is a list of points `xy`. The prefix `~` means round, `o`
/// round and closed.
enum StrokeFont {
    /// Returns the strokes of a text with capitals of the given height and its upper left corner at `origin`.
    static func outlines(_ text: String, at origin: Point, height: Float, spacing: Float = 1) -> [Outline] {
        let unit = height / 6
        var x = origin.x
        var outlines: [Outline] = []
        for character in text {
            let glyph = parse(character)
            outlines += glyph.map { $0.placed(at: Point(x, origin.y), scale: unit) }
            x += advance(character, spacing) * unit
        }
        return outlines
    }

    /// Returns the width of a text.
    static func width(_ text: String, height: Float, spacing: Float = 1) -> Float {
        text.reduce(0) { $0 + advance($1, spacing) } * height / 6
    }

    /// Returns the strokes of one character, centered in a cell of the machine-readable lines.
    static func cell(_ character: Character, at origin: Point, height: Float) -> [Outline] {
        let shift = (4 - breadth(character)) / 2 * height / 6
        return outlines(String(character), at: origin + Point(shift, 0), height: height)
    }

    /// Returns the characters without a glyph.
    static func missing(in text: String) -> Set<Character> { Set(text.filter { $0 != " " && glyphs[$0] == nil }) }

    private static func advance(_ character: Character, _ spacing: Float) -> Float {
        switch character {
        case " ": 3.2 * spacing
        default: breadth(character) + 1.4 * spacing
        }
    }

    private static func breadth(_ character: Character) -> Float {
        switch character {
        case "I": 2
        case ".", ":", "'": 0.4
        default: 4
        }
    }

    private static func parse(_ character: Character) -> [Outline] {
        (glyphs[character] ?? "").split(separator: ",").map { stroke in
            let isClosed = stroke.hasPrefix("o")
            let digits = stroke.compactMap(\.wholeNumberValue).map(Float.init)
            let points = stride(from: 0, to: digits.count - 1, by: 2).map { Point(digits[$0], digits[$0 + 1]) }
            let outline = Outline(points, closed: isClosed)
            return isClosed || stroke.hasPrefix("~") ? outline.smoothed() : outline
        }
    }

    private static let glyphs: [Character: String] = [
        "A": "06 20 46,14 34", "B": "00 06,~00 30 40 42 33 03,~03 33 44 46 36 06",
        "C": "~41 40 20 00 01 05 06 26 46 45", "D": "00 06,~00 20 40 42 44 46 26 06", "E": "40 00 06 46,03 33",
        "F": "40 00 06,03 33", "G": "~41 40 20 00 01 05 06 26 46 45 43,43 23", "H": "00 06,40 46,03 43",
        "I": "00 20,10 16,06 26", "J": "~40 44 46 16 05", "K": "00 06,40 03 46", "L": "00 06 46",
        "M": "06 00 23 40 46", "N": "06 00 46 40", "O": "o00 20 40 43 46 26 06 03",
        "P": "00 06,~00 30 40 42 43 33 03", "Q": "o00 20 40 43 46 26 06 03,24 46",
        "R": "00 06,~00 30 40 42 43 33 03,23 46", "S": "~41 40 20 00 01 03 23 43 45 46 26 06 05", "T": "00 40,20 26",
        "U": "~00 03 06 26 46 43 40", "V": "00 26 40", "W": "00 16 22 36 40", "X": "00 46,40 06",
        "Y": "00 23 40,23 26", "Z": "00 40 06 46",
        "0": "o00 20 40 43 46 26 06 03,24 22", "1": "02 20 26,06 46", "2": "~01 00 20 40 42 33 06,06 46",
        "3": "~01 00 20 40 42 43 23,~23 43 44 46 26 06 05", "4": "36 30 04 44",
        "5": "40 00 03,~03 23 43 44 46 26 06 05", "6": "~41 40 20 00 03 06,o03 23 43 44 46 26 06 04",
        "7": "00 40 16", "8": "o00 20 40 41 43 23 03 01,o03 23 43 45 46 26 06 05",
        "9": "~05 06 26 46 43 40,o00 20 40 41 43 23 03 02", "<": "41 03 45", "-": "13 33", ".": "06 06", "/": "06 40",
        ":": "02 02,05 05", "'": "00 01", "#": "10 16,30 36,02 42,04 44",
    ]
}

/// Some Chinese characters on a grid of 10 by 10. 样本 means "specimen".
enum BrushFont {
    /// Returns the strokes of a character in a square of the given size.
    static func outlines(_ character: Character, at origin: Point, size: Float) -> [Outline] {
        (strokes[character] ?? []).map { stroke in
            Outline(stroke.map { Point($0.0, $0.1) }).placed(at: origin, scale: size / 10)
        }
    }

    private static let strokes: [Character: [[(Float, Float)]]] = [
        "样": [
            [(0.2, 3), (4.1, 3)], [(2.1, 0), (2.1, 10)], [(2.1, 3.2), (0.1, 6.8)], [(2.1, 3.8), (3.8, 5.6)],
            [(5.6, 0.3), (6.4, 1.8)], [(8.8, 0.2), (7.9, 1.8)], [(4.9, 2.4), (9.5, 2.4)], [(5.2, 4.7), (9.1, 4.7)],
            [(4.5, 7.1), (9.9, 7.1)], [(7.2, 2.4), (7.2, 10)],
        ],
        "本": [
            [(0.8, 2.8), (9.2, 2.8)], [(5, 0), (5, 10)], [(5, 2.9), (3.4, 5.6), (0.6, 8)],
            [(5, 2.9), (6.6, 5.6), (9.4, 8)], [(3.2, 7.6), (6.8, 7.6)],
        ],
        "中": [[(1, 2.4), (1, 6.8)], [(1, 2.4), (9, 2.4), (9, 6.8)], [(1, 6.8), (9, 6.8)], [(5, 0), (5, 10)]],
        "日": [[(2, 0.5), (2, 9.5)], [(2, 0.5), (8, 0.5), (8, 9.5)], [(2, 5), (8, 5)], [(2, 9.5), (8, 9.5)]],
        "名": [
            [(4.2, 0), (3, 2.4), (0.8, 4.4)], [(3.6, 1.5), (7.8, 1.5), (5.6, 4.6), (0.8, 7.6)],
            [(3.3, 3), (4.9, 4.3)], [(3.4, 6), (3.4, 10)], [(3.4, 6), (8.8, 6), (8.8, 10)], [(3.4, 9.6), (8.8, 9.6)],
        ],
        "号": [
            [(2.6, 0.3), (2.6, 3.5)], [(2.6, 0.3), (7.4, 0.3), (7.4, 3.5)], [(2.6, 3.3), (7.4, 3.3)],
            [(0.4, 5), (9.6, 5)], [(3.2, 5), (2.6, 7), (8.2, 7), (7.8, 9.2), (6.6, 9.9), (5.4, 9.2)],
        ],
        "生": [
            [(2.8, 0.4), (1.8, 2.6), (0.4, 4.4)], [(2, 2.7), (9.2, 2.7)], [(1.6, 5.9), (8.6, 5.9)],
            [(0.3, 9.6), (9.7, 9.6)],
            [(5.2, 0), (5.2, 9.6)],
        ],
    ]
}
