import WaybillCore

/// A name of a query, with or without a value, as it is meant: nothing of it is encoded yet.
///
/// ```swift
/// StoreQueryItem("uploads")                    // ?uploads
/// StoreQueryItem("partNumber", "7")            // ?partNumber=7
/// ```
///
/// Values of a query are not printed: among them are tokens, signatures and upload ids.
public struct StoreQueryItem: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value; an empty one and none are the same to the stores, and are written without `=`.
    public var value: String

    /// Describes an item.
    public init(_ name: String, _ value: String = "") {
        self.name = name
        self.value = value
    }

    /// The items as a query without its `?`: `uploads&partNumber=7`.
    public static func text(of items: some Sequence<StoreQueryItem>) -> String {
        items.map(\.encoded).joined(separator: "&")
    }

    /// Name and value encoded.
    var encoded: String { Self.pair(PercentEncoding.query(name), PercentEncoding.query(value)) }

    static func pair(_ name: String, _ value: String) -> String { value.isEmpty ? name : "\(name)=\(value)" }
}

extension StoreQueryItem: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, and that there is a value.
    public var description: String {
        StoreQueryItem.pair(PercentEncoding.query(name), value.isEmpty ? "" : Secret.placeholder)
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["item": description]) }
}
