// Deduplication keys that stay reserved after their item was delivered.

extension ItemTransaction {
    /// Reserves the key of a delivered item.
    func reserveKey(of row: ItemRow) throws {
        guard let key = row.deduplicationKey, let period = row.keyPeriod else { return }
        var reservation = try PreparedStatement(
            db,
            """
            INSERT INTO reservation(key, item, until) VALUES(?, ?, ?)
            ON CONFLICT(key) DO UPDATE SET item = excluded.item, until = excluded.until
            """)
        reservation.bind(key)
        reservation.bind(row.id)
        reservation.bind(now + min(period, .max / 4))
        try reservation.run()
    }

    /// Returns the ID of the delivered item that reserves a key now.
    func deliveredItem(withKey key: String) throws -> Int64? {
        var query = try PreparedStatement(db, "SELECT item FROM reservation WHERE key = ? AND until > ?")
        query.bind(key)
        query.bind(now)
        return try query.first { $0[0] }
    }

    /// Removes reservations that have ended.
    func removeEndedReservations() throws {
        var deletion = try PreparedStatement(db, "DELETE FROM reservation WHERE until <= ?")
        deletion.bind(now)
        try deletion.run()
    }
}
