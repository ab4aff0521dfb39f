import ArgumentParser

/// `waybill outbox`: manages uploads that were queued with `--queue`.
struct OutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "Delivers what was queued, and shows and steers it.",
        discussion: """
            An upload that was queued is on the disk, and neither kill -9 nor a power cut takes it away. One process \
            delivers from an outbox, "waybill outbox run"; the other commands reach it through a socket in the folder, or \
            read the queue themselves when nobody runs.

            EXAMPLES:
              waybill post https://backend.example/upload -F 'front=@card.jpg' --queue
              waybill outbox run --until-idle
              waybill outbox ls --failed
              waybill outbox show 17
              waybill outbox ack --json

            EXIT STATUS:
            \(Exit.table)
            Where several apply, the worst counts: 7, 6, 1, 5, 4, 3, then 75.
            """,
        subcommands: [
            OutboxRunCommand.self, OutboxListCommand.self, OutboxShowCommand.self, OutboxWatchCommand.self,
            OutboxPauseCommand.self, OutboxResumeCommand.self, OutboxCancelCommand.self, OutboxRetryCommand.self,
            OutboxVerifyCommand.self, OutboxAckCommand.self, OutboxCheckCommand.self,
        ])
}
