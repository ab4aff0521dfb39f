import Waybill

extension SQLiteStore {
    package func detail(_ id: Int64) async throws(OutboxError) -> StoredDetail? {
        try await group.perform { db in
            var query = try Prepared(
                db, "SELECT \(ItemRow.columns), \(ItemRow.answerColumns) FROM item WHERE id = ?")
            query.bind(id)
            return try query.first { row in
                let found = ItemRow(row)
                return StoredDetail(
                    item: found.item, spec: found.spec, sequence: found.sequence, answer: KeptAnswer(row),
                    deadline: found.life.deadline, maxAttempts: found.life.maxAttempts,
                    onUnknown: found.life.onUnknown, onChange: found.life.onChange)
            }
        }
    }
}
