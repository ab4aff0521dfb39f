import ArgumentParser

/// `waybill outbox`: manages uploads that were queued with `--queue`.
struct OutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "Delivers, lists and controls queued uploads.",
        discussion: """
            Queued uploads are stored on disk, and survive kill -9 and power loss. "waybill outbox run" delivers them. \
            One process delivers from an outbox in a directory; the other commands connect to it through a socket in \
            the directory, or read the queue directly if no process delivers. Several machines share an outbox in \
            PostgreSQL: --outbox postgresql://user@host/database.

            EXAMPLES:
              waybill post https://backend.example/upload -F 'front=@card.jpg' --queue
              waybill outbox run --until-idle
              waybill outbox ls --failed
              waybill outbox show 17
              waybill outbox ack --json

            EXIT STATUS:
            \(Exit.table)
            If several apply, the first of 7, 6, 1, 5, 4, 3, 75 is used.
            """,
        subcommands: [
            OutboxRunCommand.self, OutboxListCommand.self, OutboxShowCommand.self, OutboxWatchCommand.self,
            OutboxPauseCommand.self, OutboxResumeCommand.self, OutboxCancelCommand.self, OutboxRetryCommand.self,
            OutboxVerifyCommand.self, OutboxLanesCommand.self, OutboxRateCommand.self,
            OutboxLimitCommand.self, OutboxAckCommand.self, OutboxPurgeCommand.self, OutboxBackupCommand.self,
            OutboxCheckCommand.self,
        ])
}
