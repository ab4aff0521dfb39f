/// The known differences of readers and their reasons. A difference that is not listed fails the tests, as does a row
/// that no longer differs.
///
/// Only names may differ, and whether a form is read at all if it is empty or contains a name with a special meaning
/// for the reader. Contents, their order and their types may not differ.
enum KnownDifferences {
    /// The rows with the same reason.
    struct Group: Sendable {
        let why: String
        let rows: [Row]
    }

    /// The name that some readers report for one form.
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

    /// Returns the known differences of a reader.
    static func of(_ reader: String) -> Set<Difference> {
        Set(
            rows.filter { $0.readers.contains(reader) }.map {
                Difference(form: $0.form, place: $0.place, says: $0.says)
            })
    }
}
