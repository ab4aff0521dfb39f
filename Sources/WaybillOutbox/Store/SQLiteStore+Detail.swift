import Waybill

extension SQLiteStore {
    package func detail(_ id: Int64) async throws(OutboxError) -> StoredDetail? {
        try await group.perform { db in
            var query = try Prepared(
                db, "SELECT \(WholeItem.columns), \(WholeItem.answerColumns) FROM item WHERE id = ?")
            query.bind(id)
            return try query.first { row in
                let found = WholeItem(row)
                return StoredDetail(
                    item: found.item, spec: found.spec, sequence: found.row.sequence, answer: KeptAnswer(row),
                    deadline: found.row.life.deadline, maxAttempts: found.row.life.maxAttempts,
                    onUnknown: found.row.life.onUnknown, onChange: found.row.life.onChange)
            }
        }
    }
}
