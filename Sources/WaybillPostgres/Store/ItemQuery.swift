#if Shared
    import Waybill
    import WaybillOutbox

    /// Queries for the items of a selection, in both tables, in the order of their IDs.
    enum ItemQuery {
        static func rows(_ selection: ItemSelection, after id: Int64, limit: Int) -> PostgresStatement {
            query(selection, after: id, limit: limit, item: SharedItem.ofItem("i"), ended: SharedItem.ofEnded("e"))
        }

        static func ids(_ selection: ItemSelection, after id: Int64, limit: Int) -> PostgresStatement {
            query(selection, after: id, limit: limit, item: "i.id", ended: "e.id")
        }

        private static func query(
            _ selection: ItemSelection, after id: Int64, limit: Int, item: String, ended: String
        ) -> PostgresStatement {
            var parameters: [PostgresValue] = [.int8(id), .int8(Int64(limit))]
            var conditions: [String] = []
            func add(_ condition: (String) -> String, _ value: PostgresValue) {
                parameters.append(value)
                conditions.append(condition("$\(parameters.count)"))
            }
            if let ids = selection.ids { add({ "t.id = ANY(\($0))" }, .array(ids.map(\.rawValue))) }
            if let batch = selection.batch { add({ "t.batch = \($0)" }, .text(batch)) }
            if let lane = selection.lane { add({ "t.lane = \($0)" }, .text(lane)) }
            if let tag = selection.tag { add({ "\($0) = ANY(t.tags)" }, .text(tag)) }
            if let states = selection.states {
                add(
                    { "t.state = ANY(\($0))" },
                    .array(of: .int2, states.map(\.number).sorted().map { .int2(Int16($0)) }))
            }
            func part(_ columns: String, _ table: String, _ alias: String) -> String {
                let rest = conditions.map { " AND \($0.replacing("t.", with: "\(alias)."))" }.joined()
                return "(SELECT \(columns) FROM waybill.\(table) \(alias) WHERE \(alias).id > $1\(rest)"
                    + " ORDER BY \(alias).id LIMIT $2)"
            }
            var parts: [String] = []
            let states = selection.states ?? Set(OutboxState.allCases)
            if states.contains(where: { !$0.isTerminal }) { parts.append(part(item, "item", "i")) }
            if states.contains(where: \.isTerminal) { parts.append(part(ended, "ended", "e")) }
            // No state is selected.
            if parts.isEmpty { parts.append(part(item, "item", "i")) }
            return PostgresStatement(
                "SELECT * FROM (\(parts.joined(separator: " UNION ALL "))) found ORDER BY id LIMIT $2",
                parameters: parameters)
        }
    }
#endif
