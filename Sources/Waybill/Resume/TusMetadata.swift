import FoundationEssentials
import WaybillCore
import WaybillMultipart

/// The metadata of a tus upload: `name base64(value)`, separated by commas.
enum TusMetadata {
    /// Returns the value of the field `Upload-Metadata`, or `nil` for none.
    ///
    /// - Throws: ``UploadError/Code/invalidRequest`` for a name that the protocol does not allow.
    static func field(
        for content: UploadContent, type: String?, options: ResumeOptions
    ) throws(UploadError) -> String? {
        var path: String?
        if case .file(let name, _) = content.kind { path = name }
        return try field(options.metadata ?? pairs(path: path, type: type))
    }

    /// Returns the value of the field for names and values, or `nil` for none.
    static func field(_ pairs: [String: String]) throws(UploadError) -> String? {
        for name in pairs.keys {
            guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ",") }) else {
                throw UploadError(
                    .invalidRequest,
                    "The metadata name \(quoted(name)) is invalid. Use ASCII without spaces and commas.",
                    phase: .preparing)
            }
        }
        guard !pairs.isEmpty else { return nil }
        return pairs.sorted { $0.key < $1.key }.map { name, value in
            value.isEmpty ? name : "\(name) \(Data(value.utf8).base64EncodedString())"
        }.joined(separator: ",")
    }

    /// Returns the metadata of a file, or of a body with a content type.
    static func pairs(path: String?, type: String?) -> [String: String] {
        var pairs: [String: String] = [:]
        pairs["filetype"] = type
        pairs["filename"] = path?.split(separator: "/").last.map(String.init)
        return pairs
    }
}
