import WaybillCore

/// An item of a query: a name with an optional value, not percent-encoded.
///
/// ```swift
/// StoreQueryItem("uploads")                    // ?uploads
/// StoreQueryItem("partNumber", "7")            // ?partNumber=7
/// ```
///
/// The description omits values: tokens, signatures and upload IDs are among them.
public struct StoreQueryItem: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value. To the stores, an empty value is equivalent to none; both are written without `=`.
    public var value: String

    /// Creates an item.
    public init(_ name: String, _ value: String = "") {
        self.name = name
        self.value = value
    }

    /// Returns the items as a query without `?`: `uploads&partNumber=7`.
    public static func text(of items: some Sequence<StoreQueryItem>) -> String {
        items.map(\.encoded).joined(separator: "&")
    }

    /// The percent-encoded name and value.
    var encoded: String { Self.pair(PercentEncoding.query(name), PercentEncoding.query(value)) }

    static func pair(_ name: String, _ value: String) -> String { value.isEmpty ? name : "\(name)=\(value)" }
}

extension StoreQueryItem: RedactedDescription {
    /// The name, and a placeholder for the value if there is one.
    public var description: String {
        StoreQueryItem.pair(PercentEncoding.query(name), value.isEmpty ? "" : Secret.placeholder)
    }
}
