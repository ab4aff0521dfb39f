/// A header line of a part.
public struct MultipartHeader: Sendable, Hashable {
    /// The name, as written.
    public var name: String
    /// The value, without blanks around it.
    public var value: String

    /// Describes a header line.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
