#if Shared
    import WaybillCore

    /// A value as an object. To pass a large structure to the functions of all columns would retain what it refers to, for
    /// each of them.
    final class Boxed<Value: Sendable>: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    /// A parameter of a statement for one or more rows, which is a column of a ``ParameterTable``.
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

        /// Returns the value of the only row, or an array of the values.
        func values(_ rows: [Row]) -> PostgresValue {
            func one(_ row: Row) -> PostgresValue { value(row) ?? .null(type) }
            return rows.count == 1 ? one(rows[0]) : .array(of: type, rows.map(one))
        }
    }

    /// The parameters of a statement as a table `u`, with a column `number` for the order of its rows.
    ///
    /// The parameters of one row are values, not arrays: the plan then needs no join.
    struct ParameterTable: Hashable, Sendable {
        struct Column: Hashable, Sendable {
            let name: String
            let type: PostgresType
        }

        let columns: [Column]
        let hasOneRow: Bool

        /// An item of FROM.
        var text: String {
            guard hasOneRow else {
                let arrays = columns.enumerated().map { "$\($0 + 1)::\($1.type)[]" }.joined(separator: ", ")
                return "unnest(\(arrays)) WITH ORDINALITY AS u(\(columns.map(\.name).joined(separator: ", ")), number)"
            }
            let values = columns.enumerated().map { "$\($0 + 1)::\($1.type) AS \($1.name)" }.joined(separator: ", ")
            return "(SELECT \(values), 1::bigint AS number) AS u"
        }

        /// Returns the condition that a column has the value of the first parameter. With an array, the planner does not derive
        /// from the join that it can use an index.
        func first(_ column: String) -> String {
            hasOneRow ? "\(column) = u.\(columns[0].name)" : "\(column) = u.\(columns[0].name) AND \(column) = ANY($1)"
        }
    }

    /// The texts of statements, by a purpose and the columns that they have: building a text takes as long as its statement.
    final class StatementTexts<Purpose: Hashable & Sendable>: Sendable {
        private struct Shape: Hashable {
            let purpose: Purpose
            let table: ParameterTable
        }
        private let texts = Locked<[Shape: String]>([:])

        /// Returns the statement for rows, whose text is made once. A last parameter follows those of the columns.
        func statement<Row: AnyObject & Sendable>(
            _ purpose: Purpose, _ parameters: [ColumnParameter<Row>], _ rows: [Row], last: PostgresValue? = nil,
            _ text: (ParameterTable) -> String
        ) -> PostgresStatement {
            let needed = parameters.filter { $0.isNeeded(by: rows) }
            let table = ParameterTable(
                columns: needed.map { ParameterTable.Column(name: $0.name, type: $0.type) }, hasOneRow: rows.count == 1)
            let shape = Shape(purpose: purpose, table: table)
            let text = texts.withLock { texts in
                if let text = texts[shape] { return text }
                let made = text(table)
                texts[shape] = made
                return made
            }
            return PostgresStatement(text, parameters: needed.map { $0.values(rows) } + [last].compactMap(\.self))
        }
    }
#endif
