import FoundationEssentials
import GRDB
import Waybill

extension SQLiteStore {
    package func detail(_ id: Int64) async throws(OutboxError) -> StoredDetail? {
        try await group.perform { db in
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT \(ItemRow.columns), status, headers, body, message, changed_after FROM item WHERE id = ?
                    """, arguments: [id])
            guard let row else { return nil }
            let found = ItemRow(row)
            var answer = KeptAnswer()
            answer.status = row["status"]
            answer.headers =
                (row["headers"] as String?).flatMap {
                    try? JSONDecoder().decode([OutboxResult.Header].self, from: Data($0.utf8))
                } ?? []
            answer.body = row["body"] ?? Data()
            answer.message = row["message"]
            answer.sourceChangedAfterwards = row["changed_after"]
            return StoredDetail(
                item: found.item, spec: found.spec, sequence: found.sequence, answer: answer,
                deadline: found.life.deadline, maxAttempts: found.life.maxAttempts, onUnknown: found.life.onUnknown,
                onChange: found.life.onChange)
        }
    }
}
