/// How the name of a nested field is written.
///
/// The members of `order`, and the two elements of its `tags`:
///
/// | style | member | elements |
/// | --- | --- | --- |
/// | ``brackets`` | `order[id]` | `order[tags][]`, `order[tags][]` |
/// | ``indexInBrackets`` | `order[id]` | `order[tags][0]`, `order[tags][1]` |
/// | ``noBrackets`` | `order[id]` | `order[tags]`, `order[tags]` |
/// | ``dots`` | `order.id` | `order.tags.0`, `order.tags.1` |
public enum FieldNameStyle: Sendable, Hashable, CaseIterable {
    /// What PHP, Rails and Express (`qs`) read. PHP can't tell where an object in a list ends and the next begins.
    case brackets
    /// What PHP and Express (`qs`) read; keeps the objects of a list apart.
    case indexInBrackets
    /// Elements repeat the name: what Go, Java servlets, Django and Flask read.
    case noBrackets
    /// For servers that cut names at dots.
    case dots

    func member(_ key: String, of name: String) -> String {
        guard !name.utf8.isEmpty else { return key }
        return self == .dots ? "\(name).\(key)" : "\(name)[\(key)]"
    }

    func element(_ index: Int, of name: String) -> String {
        switch self {
        case .brackets: "\(name)[]"
        case .indexInBrackets: "\(name)[\(index)]"
        case .noBrackets: name
        case .dots: "\(name).\(index)"
        }
    }
}
