/// In which order `-F` and `--form-string` stood.
///
/// The argument parser gives each of the two in order, but not how they were mixed, and the order of the parts is the
/// caller's. So the words of the command line are walked once more.
enum FormOrder {
    /// The two in the order in which they stood: `true` is a `--form-string`.
    static func isLiteral(_ arguments: [String]) -> [Bool] {
        var order: [Bool] = []
        var index = 0
        while index < arguments.count {
            let word = arguments[index]
            index += 1
            if word == "--" { break }
            if word.hasPrefix("--") {
                let name = word.prefix { $0 != "=" }
                note(String(name), in: &order)
                if name.count == word.count, longWithValue.contains(word) { index += 1 }
            } else if word.hasPrefix("-"), let takesNext = walkShort(word.dropFirst(), &order), takesNext {
                index += 1
            }
        }
        return order
    }

    /// Puts the values of the two lists into that order; if the walk does not fit the lists, forms come first.
    static func merge<Value>(_ forms: [Value], _ literals: [Value], order: [Bool]) -> [Value] {
        guard order.count(where: { $0 }) == literals.count, order.count == forms.count + literals.count else {
            return forms + literals
        }
        var forms = forms[...]
        var literals = literals[...]
        return order.map { $0 ? literals.removeFirst() : forms.removeFirst() }
    }

    private static func note(_ name: String, in order: inout [Bool]) {
        if name == "--form" { order.append(false) }
        if name == "--form-string" { order.append(true) }
    }

    /// Whether the value of a cluster such as `-kvF` is the next word; `nil` if it takes none.
    private static func walkShort(_ letters: Substring, _ order: inout [Bool]) -> Bool? {
        guard let at = letters.firstIndex(where: { shortWithValue.contains($0) }) else { return nil }
        if letters[at] == "F" { order.append(false) }
        return letters.index(after: at) == letters.endIndex
    }

    private static let shortWithValue: Set<Character> = ["F", "H", "X", "u", "x", "m", "o", "U", "E"]
    private static let longWithValue: Set<String> = [
        "--form", "--form-string", "--max-bytes", "--quality", "--min-side", "--header", "--request", "--user",
        "--cacert", "--proxy",
        "--resolve", "--limit-rate", "--retry", "--connect-timeout", "--max-time", "--response-timeout",
        "--stall-timeout", "--output", "--boundary", "--parallel", "--outbox", "--idempotency", "--idempotency-window",
        "--on-unknown", "--if-changed", "--priority", "--batch", "--tag", "--dedupe", "--duplicates", "--deadline",
        "--attempts", "--credential", "--each-from", "--proxy-user", "--noproxy", "--cert", "--cert-type", "--key",
        "--pass",
        "--pinnedpubkey", "--unix-socket",
    ]
}
