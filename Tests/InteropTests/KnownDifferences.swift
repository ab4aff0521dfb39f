/// What readers are known to say otherwise, and why. A difference that is not here fails the tests; so does a row that
/// no longer differs.
///
/// Only names may differ, and whether a form is read at all where it holds nothing, or a name that means something to the
/// reader. Contents, their order and their types may not.
enum KnownDifferences {
    /// Rows for one reason.
    struct Group: Sendable {
        let why: String
        let rows: [Row]
    }

    /// What some readers say of a name of one form.
    struct Row: Sendable {
        let form: String
        let place: Difference.Place
        let says: String?
        let readers: [String]

        init(_ form: String, _ place: Difference.Place, says: String? = nil, _ readers: [String]) {
            self.form = form
            self.place = place
            self.says = says
            self.readers = readers
        }
    }

    static var rows: [Row] { groups.flatMap(\.rows) }

    /// What a reader is known to say.
    static func of(_ reader: String) -> Set<Difference> {
        Set(
            rows.filter { $0.readers.contains(reader) }.map {
                Difference(form: $0.form, place: $0.place, says: $0.says)
            })
    }
}
