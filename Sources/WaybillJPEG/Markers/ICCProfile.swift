/// The name of an embedded colour profile (ICC.1:2010, 7.2 and 9.2.41).
struct ICCProfile {
    let name: String

    /// Reads the profile's first segment. The others are not needed: the description lies early in all profiles that
    /// cameras write, and a profile with a late one is called nameless.
    init(firstSegment profile: ArraySlice<UInt8>) {
        name = Self.description(in: profile) ?? ""
    }

    private static func description(in profile: ArraySlice<UInt8>) -> String? {
        guard let count = long(profile, 128), count <= 100 else { return nil }
        for index in 0..<count {
            let entry = 132 + 12 * index
            guard let signature = long(profile, entry) else { return nil }
            guard signature == 0x6465_7363 else { continue }  // 'desc'
            guard let offset = long(profile, entry + 4), let type = long(profile, offset) else { return nil }
            return type == 0x6D6C_7563 ? localised(profile, offset) : plain(profile, offset)
        }
        return nil
    }

    /// `desc` of version 2: a length and ASCII.
    private static func plain(_ profile: ArraySlice<UInt8>, _ offset: Int) -> String? {
        guard let length = long(profile, offset + 8) else { return nil }
        return text(profile, offset + 12, min(length, 200), step: 1)
    }

    /// `mluc` of version 4: records that point at UTF-16; the first one will do.
    private static func localised(_ profile: ArraySlice<UInt8>, _ offset: Int) -> String? {
        guard let length = long(profile, offset + 20), let start = long(profile, offset + 24) else { return nil }
        return text(profile, offset + start, min(length, 400), step: 2)
    }

    /// Printable ASCII only: the name may reach a terminal.
    private static func text(_ profile: ArraySlice<UInt8>, _ offset: Int, _ length: Int, step: Int) -> String? {
        guard offset + length <= profile.count else { return nil }
        var text = ""
        for index in stride(from: offset + step - 1, to: offset + length, by: step) {
            let byte = profile[profile.startIndex + index]
            if byte == 0 { break }
            text.append((0x20...0x7E).contains(byte) ? Character(Unicode.Scalar(byte)) : "?")
        }
        return text
    }

    private static func long(_ profile: ArraySlice<UInt8>, _ offset: Int) -> Int? {
        guard offset >= 0, offset + 4 <= profile.count else { return nil }
        let at = profile.startIndex + offset
        return Int(profile[at]) << 24 | Int(profile[at + 1]) << 16 | Int(profile[at + 2]) << 8 | Int(profile[at + 3])
    }
}
