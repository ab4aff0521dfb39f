public import FoundationEssentials
public import WaybillCore

extension QiniuKeys {
    /// A URL of an object in a private bucket, good until a time.
    ///
    /// ```swift
    /// let url = keys.privateURL("https://img.example/cards/front.jpg?imageView2/2/w/200", until: .now + 3_600)
    /// ```
    ///
    /// - Parameters:
    ///   - url: The URL, percent-encoded, with the query that names its style, if any. Its fragment is left out.
    ///   - deadline: Until when it is good; whole seconds.
    /// - Returns: The URL with `e` and `token` at the end of its query. Whoever has it can read the object.
    public func privateURL(_ url: String, until deadline: Date) -> Secret {
        let whole = url.prefix { $0 != "#" }
        let mark = whole.contains("?") ? "&" : "?"
        let seconds = Int64(min(max(deadline.timeIntervalSince1970, 0), 4_294_967_295).rounded(.down))
        let signed = "\(whole)\(mark)e=\(seconds)"
        return .secret("\(signed)&token=\(token(for: signed.utf8).value)")
    }
}
