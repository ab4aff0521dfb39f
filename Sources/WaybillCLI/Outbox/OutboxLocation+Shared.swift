import WaybillOutbox

extension OutboxLocation {
    /// Returns the store in the database that ``path`` names.
    func sharedStore() throws(CommandFailure) -> SharedOutboxStore {
        throw .usage(
            "This waybill was built without support for outboxes in PostgreSQL. Install the headers of libpq, and build it "
                + "with \"swift build -c release --traits Command,Shared\".")
    }
}
