/// Where the record of one upload lies while somebody works on it: a file of its own, or a place that somebody else gives it.
protocol RecordKeeper: Sendable {
    /// What lies there, for somebody who wants to upload `subject` at a moment (seconds since 1970).
    func load(_ subject: ResumeSubject, at now: Int64) async throws(StoreError) -> FoundRecord

    /// Puts a record in the place of the one before, on the disk before it returns.
    func save(_ record: ResumeRecord) async throws(StoreError)

    /// The same of a record that has a part more, where it may also be left to a later call: what a record lacks is found by
    /// asking the store.
    func note(_ record: ResumeRecord) async throws(StoreError)

    /// Throws the record away: nobody can go on from it.
    func remove() async

    /// The object is there, and nobody has to go on.
    func finish() async

    /// Lets others have it.
    func close()
}

extension RecordClaim: RecordKeeper {
    func note(_ record: ResumeRecord) async throws(StoreError) { try await save(record) }

    func finish() async { await remove() }
}
