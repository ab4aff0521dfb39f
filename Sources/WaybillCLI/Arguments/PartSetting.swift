import Waybill

/// A setting for one part of a form, `front=100KiB`, or for all images, `100KiB`.
struct PartSetting<Value: Sendable & Hashable>: Sendable, Hashable {
    /// The field name, or `nil` for all images.
    var name: String?
    var value: Value

    /// Parses `name=value` or `value`. `read` parses the value.
    init(_ text: String, read: (String) throws(CommandFailure) -> Value) throws(CommandFailure) {
        // Field names may contain "="; sizes and qualities can't.
        if let equals = text.lastIndex(of: "=") {
            name = String(text[..<equals])
            value = try read(String(text[text.index(after: equals)...]))
        } else {
            name = nil
            value = try read(text)
        }
    }
}

/// The compression settings for the images of a form.
struct ImageSettings: Sendable {
    private let maxBytes: [PartSetting<ByteCount>]
    private let quality: [PartSetting<Int>]
    private let minSide: [PartSetting<Int>]
    /// The decoder of HEIC images, if they are compressed, too.
    let heicDecoder: ExternalDecoder?
    /// The log that collects the results.
    let log: ImageLog?

    init(_ options: FormOptions, log: ImageLog?) throws(CommandFailure) {
        try self.init(
            maxBytes: options.maxBytes, quality: options.quality, minSide: options.minSide,
            decodesHEIC: options.decodesHEIC, log: log)
    }

    init(
        maxBytes: [String], quality: [String], minSide: [String] = [], decodesHEIC: Bool = false, log: ImageLog? = nil
    ) throws(CommandFailure) {
        guard minSide.isEmpty || !maxBytes.isEmpty else { throw SizeArgument.needsMaxBytes }
        self.log = log
        heicDecoder = decodesHEIC ? .heifConvert : nil
        self.maxBytes = try Self.parse(maxBytes, "--max-bytes", SizeArgument.size)
        self.quality = try Self.parse(quality, "--quality", SizeArgument.quality)
        self.minSide = try Self.parse(minSide, "--min-side", SizeArgument.side)
    }

    /// Returns the compression options of a file part, or `nil` if it is sent unchanged. A setting with the part's name
    /// has precedence over one for all images, and a later one over an earlier one.
    func options(forPart name: String, isJPEG: Bool) -> JPEGOptions? {
        let size = Self.value(of: maxBytes, name, isJPEG)
        let quality = Self.value(of: quality, name, isJPEG)
        guard size != nil || quality != nil else { return nil }
        return JPEGOptions(
            maxBytes: size, quality: quality, minSide: Self.value(of: minSide, name, isJPEG), heicDecoder: heicDecoder)
    }

    /// Whether all images are compressed, not only those of named parts.
    var compressesAll: Bool { maxBytes.contains { $0.name == nil } || quality.contains { $0.name == nil } }

    /// Throws if a setting applies to no part: with a mistyped name, the original would be sent. If `isComplete` is
    /// false, files with other names may follow.
    func checkUse(by files: [(name: String, isJPEG: Bool)], isComplete: Bool = true) throws(CommandFailure) {
        guard isComplete || !files.isEmpty else { return }
        try Self.check(maxBytes, "--max-bytes", files, isComplete)
        try Self.check(quality, "--quality", files, isComplete)
        try Self.check(minSide, "--min-side", files, isComplete)
    }

    private static func parse<Value>(
        _ texts: [String], _ option: String, _ read: (String, String) throws(CommandFailure) -> Value
    ) throws(CommandFailure) -> [PartSetting<Value>] {
        var settings: [PartSetting<Value>] = []
        for text in texts {
            settings.append(try PartSetting(text) { (value) throws(CommandFailure) in try read(value, option) })
        }
        return settings
    }

    private static func value<Value>(of settings: [PartSetting<Value>], _ name: String, _ isJPEG: Bool) -> Value? {
        settings.last { $0.name == name }?.value ?? (isJPEG ? settings.last { $0.name == nil }?.value : nil)
    }

    private static func check<Value>(
        _ settings: [PartSetting<Value>], _ option: String, _ files: [(name: String, isJPEG: Bool)], _ isComplete: Bool
    ) throws(CommandFailure) {
        for setting in settings {
            if let name = setting.name {
                guard files.contains(where: { $0.name == name }) else {
                    throw .usage(
                        "\(option): no -F sends a file named \(Redaction.quoted(name)). Name a part that does.")
                }
            } else if isComplete, !files.contains(where: \.isJPEG) {
                throw .usage(
                    "\(option): no -F sends a JPEG or, with --heic, a HEIC image. Name the part: \(option) NAME=VALUE.")
            }
        }
    }
}
