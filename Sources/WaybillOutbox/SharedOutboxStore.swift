import Glibc
public import WaybillCore

/// A store that the outboxes of several machines share, for ``Outbox/Configuration/store``.
///
/// ```swift
/// var store = try SharedOutboxStore.postgres("postgresql://waybill@db.example/uploads")
/// store.sharedDirectory = "/mnt/uploads/waybill"
/// configuration.store = store
/// let outbox = try await Outbox(configuration: configuration)
/// ```
///
/// The files of an item are stored where every worker can read them: with the item up to ``inlineLimit``, otherwise in
/// ``sharedDirectory``. An item whose files stay in place is refused, unless ``EnqueueOptions/allowsPinning`` is set.
public struct SharedOutboxStore: Sendable, CustomStringConvertible {
    /// The address of the store, without secrets.
    public let description: String
    /// The maximum size of the files of an item, in total, that are stored with the item. 1 MiB by default; at most 8 MiB
    /// are used.
    ///
    /// A worker keeps them in memory while it delivers the item.
    public var inlineLimit = ByteCount.mebibytes(1)
    /// A directory on a file system that all machines have mounted at the same path, for larger files; `nil` by default.
    ///
    /// It must exist, and must not be accessible to others (`chmod o=`). Choose a subdirectory of the mounted file
    /// system, so that a machine on which it is not mounted reports an error instead of using its own disk.
    public var sharedDirectory: String?
    /// The name of this machine, by which items are pinned to it: by default its host name. It must be unique, and stay
    /// the same across restarts; set it in containers, whose host names change.
    public var host = HostName.current
    /// Opens the store.
    package let open: @Sendable () async throws(OutboxError) -> any OutboxStore

    /// Creates a value for a store.
    ///
    /// - Parameters:
    ///   - description: The address of the store, without secrets.
    ///   - open: Opens the store, and prepares it if it is empty. Throws ``OutboxError/Code/storeUnreachable`` if it cannot
    ///     be reached. Called once for each outbox, which closes the store that it opened.
    package init(_ description: String, open: @escaping @Sendable () async throws(OutboxError) -> any OutboxStore) {
        self.description = description
        self.open = open
    }
}

/// The name of this machine.
package enum HostName {
    /// The name as reported by gethostname(2); `localhost` without one.
    package static var current: String {
        var name = [UInt8](repeating: 0, count: 256)
        let code = unsafe name.withUnsafeMutableBytes { buffer in
            unsafe gethostname(buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count - 1)
        }
        let text = String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
        return code == 0 && !text.isEmpty ? text : "localhost"
    }
}
