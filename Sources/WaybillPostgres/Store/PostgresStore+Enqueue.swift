#if Shared
    import Waybill
    package import WaybillOutbox

    // Enqueuing.

    extension PostgresStore {
        /// Inserts items: in one round trip if none has a deduplication key or a known idempotency key, else in two.
        package func enqueue(_ items: [NewItem]) async throws(OutboxError) -> [EnqueuedItem] {
            guard !items.isEmpty else { return [] }
            for item in items { try Self.check(item) }
            let hasKeys = items.contains { $0.deduplicationKey != nil }
            let added = try await attempt { [self] (mayBeDone) async throws(PostgresError) in
                hasKeys
                    ? try await enqueueByPolicy(items)
                    : try await enqueueWithoutKeys(items, mayBeDone)
            }
            signals.notify()
            return added
        }

        private static func check(_ item: NewItem) throws(OutboxError) {
            let texts =
                [
                    item.kind, item.lane, item.spec, item.idempotencyKey, item.deduplicationKey ?? "", item.batch ?? "",
                ] + item.tags + item.staged + item.bodies.map(\.name) + [item.host ?? ""]
            guard texts.allSatisfy({ !$0.containsNUL }) else {
                throw OutboxError(.uploadRefused, "A text of the upload contains the character NUL. Remove it.")
            }
        }

        private func enqueueWithoutKeys(
            _ items: [NewItem], _ mayBeDone: Bool
        ) async throws(PostgresError) -> [EnqueuedItem] {
            let keys = items.map(\.idempotencyKey)
            // In the first attempt, no item can have a key that was generated for this call.
            let others = items.filter { mayBeDone || !$0.isKeyNew }.map(\.idempotencyKey)
            let statements = [
                ItemInserts.insert(items, known: others.isEmpty ? .fail : .skip),
                others.isEmpty ? nil : ItemInserts.deleteKnown(others),
                ItemInserts.insertBodies(items),
            ]
            let rows = try await main.run(statements.compactMap(\.self))
            var inserted = Dictionary(
                rows[0].rows.map { ($0[1].text ?? "", $0[0].integer ?? 0) }, uniquingKeysWith: { first, _ in first })
            if !others.isEmpty { for row in rows[1].rows { inserted[row[0].text ?? ""] = nil } }
            var known: [String: KnownItem] = [:]
            let missing = keys.filter { inserted[$0] == nil }
            if !missing.isEmpty { known = Self.known(try await main.run(ItemInserts.selectKnown(missing))) }
            var added: [EnqueuedItem] = []
            for item in items {
                if let found = known[item.idempotencyKey] {
                    added.append(found.result(for: item))
                } else if let id = inserted[item.idempotencyKey] {
                    // The same key again belongs to the first item of the call.
                    known[item.idempotencyKey] = KnownItem(item, id: id)
                    added.append(EnqueuedItem(id: id, isNew: true))
                } else {
                    throw PostgresError(.conflict, "An item with the key \(item.idempotencyKey) was removed meanwhile.")
                }
            }
            return added
        }

        private func enqueueByPolicy(_ items: [NewItem]) async throws(PostgresError) -> [EnqueuedItem] {
            let keys = Set(items.compactMap(\.deduplicationKey)).sorted()
            let reading = [
                PostgresStatement(Self.lockKeysText, .array(keys)), PostgresStatement(Self.lockItemsText, .array(keys)),
                // After the items: a row that ends in between is found in one of the tables.
                ItemInserts.selectKnown(items.map(\.idempotencyKey), reserved: keys),
                PostgresStatement(
                    "SELECT nextval('waybill.item_id_seq') FROM generate_series(1, $1)", .int4(Int32(items.count))),
            ]
            let (added, written) = try await change(on: main, reading: reading) { rows, now in
                var set = ChangeSet(rows[1].rows.map(SharedItem.init), now: now)
                set.reserved = Self.reserved(rows[2])
                var known = Self.known(rows[2])
                let ids = rows[3].rows.compactMap { $0[0].integer }
                let added = zip(items, ids).map { item, id -> EnqueuedItem in
                    if let found = known[item.idempotencyKey] { return found.result(for: item) }
                    let added = set.add(item, id: id)
                    if added.id == id { known[item.idempotencyKey] = KnownItem(item, id: id) }
                    return added
                }
                let bodies = [ItemInserts.insertBodies(items)].compactMap(\.self)
                return (set.statements + bodies, (added, set.written))
            }
            update(written)
            return added
        }

        private static func known(_ rows: PostgresRows) -> [String: KnownItem] {
            let items = rows.rows.filter { $0[2].text != nil }
            return Dictionary(items.map { ($0[1].text ?? "", KnownItem($0)) }, uniquingKeysWith: { first, _ in first })
        }

        /// Returns the delivered items that reserve deduplication keys.
        private static func reserved(_ rows: PostgresRows) -> [String: Int64] {
            let keys = rows.rows.filter { $0[2].text == nil }
            return Dictionary(
                keys.map { ($0[1].text ?? "", $0[0].integer ?? 0) }, uniquingKeysWith: { first, _ in first })
        }

        private static let lockKeysText = lockKeys("unnest($1::text[]) AS k(key)")

        private static let lockItemsText = """
            SELECT \(SharedItem.ofItem("i")) FROM waybill.item i WHERE i.dedupe_key = ANY($1)
            ORDER BY i.id FOR UPDATE OF i
            """
    }
#endif
