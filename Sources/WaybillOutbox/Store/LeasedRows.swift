import WaybillCore

/// The rows that are leased, as they are in the file: what is written at a lease need not be read again at the end.
///
/// Right because one connection writes, and all events go through ``ItemBook``. A transaction that is undone empties it.
final class LeasedRows: Sendable {
    private let rows = Locked<[Int64: ItemRow]>([:])

    subscript(_ id: Int64) -> ItemRow? { rows.withLock { $0[id] } }

    /// Takes in what was written. Whoever is leased is first in its line, so that nobody else's end changes its row.
    func note(_ row: ItemRow) {
        rows.withLock { $0[row.id] = row.life.state == .leased ? row : nil }
    }

    func forget() { rows.withLock { $0 = [:] } }
}
