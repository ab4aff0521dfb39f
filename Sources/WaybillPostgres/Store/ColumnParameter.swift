#if Shared
    import WaybillCore

    /// A value as an object. To pass a large structure to the functions of all columns would retain what it refers to, for
    /// each of them.
    final class Boxed<Value: Sendable>: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    /// A parameter of a statement for several rows: an array with a value for each row, which is a column of a table `u`.
    ///
    /// A statement has only the columns that one of its rows needs, because each column costs time.
    struct ColumnParameter<Row: AnyObject & Sendable>: Sendable {
        let name: String
        let type: PostgresType
        private let isNeeded: @Sendable (Row) -> Bool
        private let value: @Sendable (Row) -> PostgresValue?

        /// A parameter that is always needed, or if a condition holds for one row.
        init(
            _ name: String, _ type: PostgresType, if isNeeded: @escaping @Sendable (Row) -> Bool = { _ in true },
            _ value: @escaping @Sendable (Row) -> PostgresValue?
        ) {
            (self.name, self.type, self.isNeeded, self.value) = (name, type, isNeeded, value)
        }

        /// A parameter that is needed if one row has a value.
        init(
            adding name: String, _ type: PostgresType, _ value: @escaping @Sendable (Row) -> PostgresValue?
        ) {
            self.init(name, type, if: { value($0) != nil }, value)
        }

        /// Whether one of the rows needs the parameter.
        func isNeeded(by rows: [Row]) -> Bool { rows.contains(where: isNeeded) }

        func values(_ rows: [Row]) -> PostgresValue {
            .array(of: type, rows.map { value($0) ?? .null(type) })
        }
    }

    extension Array {
        /// The parameters as a table `u`, with a column `number` for their order.
        func table<Row>() -> String where Element == ColumnParameter<Row> {
            let arrays = enumerated().map { "$\($0 + 1)::\($1.type)[]" }.joined(separator: ", ")
            return "unnest(\(arrays)) WITH ORDINALITY AS u(\(map(\.name).joined(separator: ", ")), number)"
        }
    }

    /// The texts of statements, by a purpose and the columns that they have: building a text takes as long as its statement.
    final class StatementTexts<Purpose: Hashable & Sendable>: Sendable {
        private struct Shape: Hashable {
            let purpose: Purpose
            let names: [String]
        }
        private let texts = Locked<[Shape: String]>([:])

        /// Returns the statement for rows, whose text is made once. A last parameter follows those of the columns.
        func statement<Row: AnyObject & Sendable>(
            _ purpose: Purpose, _ parameters: [ColumnParameter<Row>], _ rows: [Row], last: PostgresValue? = nil,
            _ text: ([ColumnParameter<Row>]) -> String
        ) -> PostgresStatement {
            let needed = parameters.filter { $0.isNeeded(by: rows) }
            let shape = Shape(purpose: purpose, names: needed.map(\.name))
            let text = texts.withLock { texts in
                if let text = texts[shape] { return text }
                let made = text(needed)
                texts[shape] = made
                return made
            }
            return PostgresStatement(text, parameters: needed.map { $0.values(rows) } + [last].compactMap(\.self))
        }
    }
#endif
