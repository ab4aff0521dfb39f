/// The name of an embedded color profile (ICC.1:2010) and its primaries and tone curves, if it is made of these.
///
/// Every read is bounds-checked, and no memory is allocated for a length that the profile declares.
struct ICCProfile: Sendable, Hashable {
    /// The description in printable ASCII, because it may be printed to a terminal; empty if the profile has no description.
    let name: String
    /// The primaries and curves, if the profile describes RGB only by them.
    let matrix: MatrixProfile?

    /// Whether the profile is sRGB, determined by its numbers, or by its name if it has no readable numbers.
    var isSRGB: Bool { matrix?.isSRGB ?? name.lowercased().contains("srgb") }

    /// The maximum size that is read; profiles of cameras and displays have 500 to 4,000 bytes.
    static let maxProfileBytes = 1 << 20

    init(_ profile: ArraySlice<UInt8>) {
        let reader = BigEndianReader(profile)
        name = Self.description(in: reader) ?? ""
        matrix = Self.matrix(in: reader)
    }

    /// Reassembles a profile from several segments (ICC.1:2010, B.4), each with a number, a count and a piece.
    ///
    /// - Returns: `nil` if pieces are missing, duplicated or too large.
    static func assemble(_ segments: [ArraySlice<UInt8>]) -> ArraySlice<UInt8>? {
        guard let first = segments.first, first.count >= 2 else { return nil }
        let count = Int(first[first.startIndex + 1])
        if count == 1, segments.count == 1 { return first.dropFirst(2) }
        guard count == segments.count, segments.reduce(0, { $0 + $1.count }) <= maxProfileBytes else { return nil }
        var pieces = [ArraySlice<UInt8>?](repeating: nil, count: count)
        for segment in segments {
            guard segment.count >= 2, Int(segment[segment.startIndex + 1]) == count else { return nil }
            let number = Int(segment[segment.startIndex])
            guard (1...count).contains(number), pieces[number - 1] == nil else { return nil }
            pieces[number - 1] = segment.dropFirst(2)
        }
        return pieces.compactMap(\.self).reduce(into: []) { $0 += $1 }
    }

    private static func description(in reader: BigEndianReader) -> String? {
        guard let offset = reader.tag("desc"), let type = reader.long(offset) else { return nil }
        if type == BigEndianReader.code("mluc") {
            // Version 4: records that refer to UTF-16 text; the first record suffices.
            guard let length = reader.long(offset + 20), let start = reader.long(offset + 24) else { return nil }
            return reader.text(offset + start, min(length, 400), step: 2)
        }
        guard let length = reader.long(offset + 8) else { return nil }
        return reader.text(offset + 12, min(length, 200), step: 1)
    }

    private static func matrix(in reader: BigEndianReader) -> MatrixProfile? {
        guard reader.long(16) == BigEndianReader.code("RGB "), reader.long(20) == BigEndianReader.code("XYZ "),
            reader.long(36) == BigEndianReader.code("acsp"),
            // The profile prefers tables: its primaries are only a rougher approximation of them.
            reader.tag("A2B0") == nil
        else { return nil }
        var columns: [[Double]] = []
        var curves: [ToneCurve] = []
        for channel in ["r", "g", "b"] {
            guard let offset = reader.tag("\(channel)XYZ"), reader.long(offset) == BigEndianReader.code("XYZ "),
                let x = reader.fixed(offset + 8), let y = reader.fixed(offset + 12), let z = reader.fixed(offset + 16),
                let curve = reader.tag("\(channel)TRC").flatMap({ ToneCurve(reader, at: $0) })
            else { return nil }
            columns.append([x, y, z])
            curves.append(curve)
        }
        let rows = (0..<3).map { row in columns.map { $0[row] } }
        return MatrixProfile(rows: rows, curves: curves)
    }
}

/// Bounds-checked reads of numbers in a profile or a PNG file.
struct BigEndianReader {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    func long(_ offset: Int) -> Int? {
        guard let high = short(offset), let low = short(offset + 2) else { return nil }
        return high << 16 | low
    }

    func short(_ offset: Int) -> Int? {
        guard offset >= 0, offset + 2 <= bytes.count else { return nil }
        let at = bytes.startIndex + offset
        return Int(bytes[at]) << 8 | Int(bytes[at + 1])
    }

    /// Reads an `s15Fixed16Number`.
    func fixed(_ offset: Int) -> Double? {
        long(offset).map { Double(Int32(truncatingIfNeeded: $0)) / 65_536 }
    }

    /// Returns the offset of a tag's element (7.3).
    func tag(_ name: String) -> Int? {
        guard let count = long(128), count <= 100 else { return nil }
        let entry = (0..<count).lazy.map { 132 + 12 * $0 }.first { long($0) == Self.code(name) }
        return entry.flatMap { long($0 + 4) }
    }

    func text(_ offset: Int, _ length: Int, step: Int) -> String? {
        guard offset + length <= bytes.count else { return nil }
        var text = ""
        for index in stride(from: offset + step - 1, to: offset + length, by: step) {
            let byte = bytes[bytes.startIndex + index]
            if byte == 0 { break }
            text.append((0x20...0x7E).contains(byte) ? Character(Unicode.Scalar(byte)) : "?")
        }
        return text
    }

    /// Converts a four-letter signature to the number by which it is stored.
    static func code(_ name: String) -> Int { name.utf8.reduce(0) { $0 << 8 | Int($1) } }
}
