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
    /// What PHP, Rails and Express read. Objects in an array can't be told apart by all of them.
    case brackets
    /// What PHP, Rails and ASP.NET read; safe for objects in arrays.
    case indexInBrackets
    /// Elements repeat the name: what Go, Java servlets, Django and Flask read.
    case noBrackets
    /// What Spring and other servers with property paths read.
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
