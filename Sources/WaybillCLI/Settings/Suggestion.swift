/// Suggests an existing name for a misspelled one.
enum Suggestion {
    /// Returns the most similar name, if it differs by only a few typing errors or is the only one with this prefix.
    static func nearest(to word: String, among names: some Sequence<String>) -> String? {
        let text = Array(word.lowercased().unicodeScalars)
        // A longer word is not a typing error, and would take long to compare.
        guard (2...64).contains(text.count) else { return nil }
        let candidates = Set(names).sorted().map {
            (name: $0, distance: distance(text, Array($0.lowercased().unicodeScalars)))
        }
        let near = candidates.filter { $0.distance <= max(1, text.count / 4) }.min { $0.distance < $1.distance }
        if let near { return near.name }
        let longer = candidates.filter { $0.name.hasPrefix(word) }
        return longer.count == 1 ? longer[0].name : nil
    }

    /// Returns a sentence with the suggestion, or an empty string.
    static func sentence(for word: String, among names: some Sequence<String>) -> String {
        nearest(to: word, among: names).map { " Did you mean \"\($0)\"?" } ?? ""
    }

    /// Returns the number of insertions, deletions, replacements, and transpositions of adjacent characters.
    static func distance(_ one: [Unicode.Scalar], _ other: [Unicode.Scalar]) -> Int {
        var (beforeLast, last) = ([Int](), Array(0...other.count))
        for row in one.indices {
            var line = [row + 1]
            for column in other.indices {
                var best = min(last[column + 1], line[column]) + 1
                best = min(best, last[column] + (one[row] == other[column] ? 0 : 1))
                if row > 0, column > 0, one[row] == other[column - 1], one[row - 1] == other[column] {
                    best = min(best, beforeLast[column - 1] + 1)
                }
                line.append(best)
            }
            (beforeLast, last) = (last, line)
        }
        return last[other.count]
    }
}
