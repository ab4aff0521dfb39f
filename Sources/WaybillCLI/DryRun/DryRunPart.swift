import Waybill

/// A part of a form in the output of `--dry-run`.
struct DryRunPart: Sendable, JSONConvertible {
    var name: String
    var fileName: String?
    var contentType: String?
    /// The size of the content in bytes; `nil` if only the name of its credential is known.
    var size: Int64?
    /// The compression options of an image, whose ``size`` is that of the result.
    var image: JPEGOptions?
    /// The name of the credential that is inserted when the part is sent.
    var credential: String?
    /// Whether the content comes from standard input or a pipe, which a dry run does not read.
    var isUnread = false

    /// The printed line: `part front: IDFrontImage.jpg, image/jpeg, 98.2 KiB, recompressed to fit 100 KiB`.
    var line: String {
        let facts = [
            fileName, contentType, size.map { ByteCount(bytes: $0).description },
            isUnread ? "length unknown until it is read" : nil, Self.text(of: image),
            credential.map { "credential \($0)" },
        ]
        return "part \(name): \(facts.compactMap(\.self).joined(separator: ", "))"
    }

    var json: JSONValue {
        let recompressed: JSONObject? = image.map {
            ["maxBytes": $0.maxBytes, "quality": $0.quality, "minSide": $0.minSide]
        }
        let object: JSONObject = [
            "name": name, "fileName": fileName, "contentType": contentType, "size": size,
            "recompressed": recompressed, "credential": credential,
        ]
        return object.json
    }

    private static func text(of image: JPEGOptions?) -> String? {
        guard let image else { return nil }
        let limit = image.maxBytes.map { " to fit \($0)" } ?? ""
        return "recompressed\(limit)\(image.quality.map { ", quality \($0) at most" } ?? "")"
    }

    /// Returns the parts of a prepared form, as they will be sent.
    static func all(of body: MultipartBody, images: [JPEGOptions?]) -> [DryRunPart] {
        let types = contentTypes(body)
        return zip(body.parts.indices, body.parts).map { index, part in
            DryRunPart(
                name: part.name, fileName: part.fileName, contentType: index < types.count ? types[index] : nil,
                size: part.range.upperBound - part.range.lowerBound,
                image: index < images.count ? images[index] : nil)
        }
    }

    /// Returns the parts of a durable form.
    static func all(of form: DurableForm) -> [DryRunPart] {
        form.writtenParts.map { part in
            DryRunPart(
                name: part.name, fileName: part.fileName, contentType: part.contentType, size: part.count,
                credential: part.credential)
        }
    }

    /// Returns the content type of each part. Read from the preview, which contains no part contents, because the body
    /// itself consists of bytes only.
    private static func contentTypes(_ body: MultipartBody) -> [String?] {
        let lines = body.preview().split(separator: "\n", omittingEmptySubsequences: false)
        return lines.split { $0.hasPrefix("--\(body.boundary)") }.map { head in
            head.first { $0.hasPrefix("Content-Type: ") }.map { String($0.dropFirst(14)) }
        }
    }
}

extension [DryRunPart] {
    /// Returns the parts without the sizes of those that were not read.
    func omittingSizes(of unread: Set<Int>) -> [DryRunPart] {
        enumerated().map { index, part in
            var part = part
            guard unread.contains(index) else { return part }
            (part.size, part.isUnread) = (nil, true)
            return part
        }
    }
}
