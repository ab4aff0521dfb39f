import WaybillOutbox

#if Shared
    import WaybillPostgres
#endif

extension OutboxLocation {
    #if Shared
        /// Returns the store in the database that ``path`` names.
        ///
        /// - Parameter creates: Whether missing tables are created.
        /// - Returns: The store. Nothing is connected yet.
        /// - Throws: ``CommandFailure`` if the URL is invalid.
        func sharedStore(creates: Bool) throws(CommandFailure) -> SharedOutboxStore {
            var options = PostgresOptions()
            options.createsTables = creates
            do throws(OutboxError) {
                return try .postgres(path, options: options)
            } catch {
                throw CommandFailure(error)
            }
        }

        /// Checks the outbox and the server of the database that ``path`` names.
        func serverChecks() async throws(CommandFailure) -> [Check] {
            do throws(OutboxError) {
                return try await SharedOutboxHealth.findings(path).map { finding in
                    switch finding.verdict {
                    case .note: Check(note: finding.name, finding.text)
                    case .ok, .failed: Check(finding.name, finding.verdict == .ok, finding.text)
                    }
                }
            } catch {
                throw CommandFailure(error)
            }
        }
    #else
        func sharedStore(creates: Bool) throws(CommandFailure) -> SharedOutboxStore {
            throw .usage(
                "This waybill was built without support for outboxes in PostgreSQL. Install the headers of libpq, and "
                    + "build it with \"swift build -c release --traits Command,Shared\".")
        }

        func serverChecks() async throws(CommandFailure) -> [Check] { [] }
    #endif
}
