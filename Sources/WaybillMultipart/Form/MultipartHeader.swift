import WaybillCore

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

    /// The value if it is known to be harmless, else the placeholder: a header of a part may carry a credential as well as
    /// one of the request.
    var printedValue: String { Self.harmless.contains(name.lowercased()) ? value : Secret.placeholder }

    private static let harmless: Set<String> = [
        "content-description", "content-disposition", "content-encoding", "content-id", "content-language",
        "content-location", "content-type", "date", "last-modified",
    ]
}

extension MultipartHeader: CustomStringConvertible, CustomReflectable {
    /// The header line; only a value that is known to be harmless is shown.
    public var description: String { "\(name): \(printedValue)" }
    /// The description only, so that `dump` shows no more.
    public var customMirror: Mirror { Mirror(self, children: ["header": description]) }
}
