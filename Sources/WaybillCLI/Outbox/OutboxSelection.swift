import ArgumentParser
import Waybill
import WaybillOutbox

/// Options that select items.
struct OutboxSelectionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("Items, by their numbers.", valueName: "id"))
    var ids: [Int64] = []

    @Option(name: .customLong("batch"), help: ArgumentHelp("Select the items of a batch.", valueName: "name"))
    var batch: String?

    @Option(name: .customLong("tag"), help: ArgumentHelp("Select the items with a tag.", valueName: "name"))
    var tag: String?

    @Option(
        name: .customLong("lane"),
        help: ArgumentHelp(
            "Select the items of a lane, as printed by ls: host:port, or host:port as NAME.", valueName: "lane"))
    var lane: String?

    @Option(
        name: .customLong("state"),
        help: ArgumentHelp(
            "Select the items in a state: ready, leased, waiting, verify, paused, done, failed, cancelled; "
                + "may be repeated.",
            valueName: "state"))
    var states: [String] = []

    @Flag(name: .customLong("failed"), help: "Select failed items.")
    var isFailed = false

    @Flag(name: .customLong("all"), help: "Select all items.")
    var isAll = false

    /// Returns the selected items; `nil` if no option is given.
    func selection() throws(CommandFailure) -> ItemSelection? {
        var chosen: Set<OutboxState> = []
        for name in states {
            guard let state = OutboxState(rawValue: name) else {
                let names = OutboxState.allCases.map(\.rawValue).joined(separator: ", ")
                throw .usage("--state must be one of \(names); got \(Redaction.quoted(name)).")
            }
            chosen.insert(state)
        }
        if isFailed { chosen.insert(.failed) }
        let names = ids.isEmpty ? nil : ids.map { OutboxID(rawValue: $0) }
        let isNarrowed = names != nil || batch != nil || tag != nil || lane != nil || !chosen.isEmpty
        guard !(isAll && isNarrowed) else {
            throw .usage("--all can't be combined with other selections. Leave it out to select some items.")
        }
        guard isAll || isNarrowed else { return nil }
        return ItemSelection(
            ids: names, batch: batch, tag: tag, lane: lane, states: chosen.isEmpty ? nil : chosen)
    }

    /// Returns the selected items. Requires at least one option, so that all items are never changed by mistake.
    func required(by verb: String) throws(CommandFailure) -> ItemSelection {
        guard let selection = try selection() else {
            throw .usage(
                "\(verb) requires a selection. Pass item numbers, --batch, --tag, --lane, --state, --failed or --all."
            )
        }
        return selection
    }

    /// Throws if an item with one of the given numbers does not exist.
    func checkIDs(in outbox: Outbox) async throws(CommandFailure) {
        for id in ids {
            let item = try await mappingOutboxErrors { () async throws(OutboxError) in
                try await outbox.item(OutboxID(rawValue: id))
            }
            guard item != nil else {
                throw CommandFailure(
                    code: CommandFailure.Code("notFound"), exit: .usage,
                    message:
                        "There is no item \(id), or it ended long ago. List all items with waybill outbox ls --all.")
            }
        }
    }
}

extension ItemSelection {
    /// The same items in pages of some hundred numbers: a store includes all numbers of a selection in each query.
    var pages: [ItemSelection] {
        guard let ids, ids.count > Self.pageSize else { return [self] }
        return stride(from: 0, to: ids.count, by: Self.pageSize).map { start in
            var page = self
            page.ids = Array(ids[start..<min(ids.count, start + Self.pageSize)])
            return page
        }
    }

    private static let pageSize = 500
}
