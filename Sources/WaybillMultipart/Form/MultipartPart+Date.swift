public import FoundationEssentials

extension MultipartPart {
    /// A part with bytes from memory, named after a point in time: `20261121143950.jpg`.
    ///
    /// ```swift
    /// .data("FILE", photo, named: .now, in: TimeZone(secondsFromGMT: 8 * 3600)!)
    /// ```
    ///
    /// Older upload helpers generated such names for unnamed data. The name consists of the digits of year, month, day,
    /// hour, minute and second in the time zone, and the extension for the content type; without a content type, the
    /// extension for the detected type of the bytes, or `dat` if the type is unknown. Two parts created in the same
    /// second have the same name.
    public static func data(
        _ name: String, _ bytes: some Sequence<UInt8>, named date: Date, in timeZone: TimeZone,
        contentType: String? = nil
    ) -> MultipartPart {
        let bytes = Array(bytes)
        let type = contentType.map(MagicBytes.essence) ?? MagicBytes.type(of: Array(bytes.prefix(MagicBytes.needed)))
        let fileExtension =
            type.flatMap(MagicBytes.fileExtension) ?? type.flatMap(ContentTypeTable.standardExtension) ?? "dat"
        return .data(
            name, bytes, fileName: "\(digits(of: date, in: timeZone)).\(fileExtension)",
            contentType: contentType ?? type)
    }

    /// The time as `yyyyMMddHHmmss` in the Gregorian calendar, independent of the user's calendar.
    static func digits(of date: Date, in timeZone: TimeZone) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        func padded(_ number: Int?, _ width: Int) -> String {
            let text = String(number ?? 0)
            return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
        }
        return padded(parts.year, 4) + padded(parts.month, 2) + padded(parts.day, 2) + padded(parts.hour, 2)
            + padded(parts.minute, 2) + padded(parts.second, 2)
    }
}
