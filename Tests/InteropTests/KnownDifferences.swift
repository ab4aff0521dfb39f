/// What readers are known to say otherwise, and why. A difference that is not here fails the tests; so does a row that
/// no longer differs.
enum KnownDifferences {
    static func of(_ reader: String) -> Set<Difference> { [] }
}
