import Waybill

/// A part of a form as `--dry-run` tells of it.
struct RehearsedPart: Sendable {
    var name: String
    var fileName: String?
    var contentType: String?
    /// Bytes of the content; `nil` where only a credential's name is known.
    var size: Int64?
    /// What an image was made to fit; its size is that of the result.
    var image: JPEGOptions?
    /// The credential that is put there when it is sent.
    var credential: String?
    /// Whether it comes from standard input or a pipe, which a dry run does not read.
    var isUnread = false

    /// `part front: IDFrontImage.jpg, image/jpeg, 98.2 KiB, recompressed to fit 100 KiB`.
    var line: String {
        let facts = [
            fileName, contentType, size.map { ByteCount(bytes: $0).description },
            isUnread ? "length not known before it is read" : nil, Self.text(of: image),
            credential.map { "the credential \($0)" },
        ]
        return "part \(name): \(facts.compactMap(\.self).joined(separator: ", "))"
    }

    var value: JSONValue {
        let picture: JSONValue =
            image.map { options in
                .object([
                    JSONMember("maxBytes", .int(orNull: options.maxBytes?.bytes)),
                    JSONMember("quality", .int(orNull: options.quality.map(Int64.init))),
                    JSONMember("minSide", .int(orNull: options.minSide.map(Int64.init))),
                ])
            } ?? .null
        return .object([
            JSONMember("name", .string(name)), JSONMember("fileName", .string(orNull: fileName)),
            JSONMember("contentType", .string(orNull: contentType)), JSONMember("size", .int(orNull: size)),
            JSONMember("recompressed", picture), JSONMember("credential", .string(orNull: credential)),
        ])
    }

    private static func text(of image: JPEGOptions?) -> String? {
        guard let image else { return nil }
        let limit = image.maxBytes.map { " to fit \($0)" } ?? ""
        return "recompressed\(limit)\(image.quality.map { ", quality \($0) at most" } ?? "")"
    }

    /// The parts of a form that was made, as they will be sent.
    static func all(of body: MultipartBody, images: [JPEGOptions?]) -> [RehearsedPart] {
        let types = contentTypes(body)
        return zip(body.parts.indices, body.parts).map { index, part in
            RehearsedPart(
                name: part.name, fileName: part.fileName, contentType: index < types.count ? types[index] : nil,
                size: part.range.upperBound - part.range.lowerBound,
                image: index < images.count ? images[index] : nil)
        }
    }

    /// The parts of a form that was written down.
    static func all(of form: DurableForm) -> [RehearsedPart] {
        form.writtenParts.map { part in
            RehearsedPart(
                name: part.name, fileName: part.fileName, contentType: part.contentType, size: part.count,
                credential: part.credential)
        }
    }

    /// The type in the head of each part, which nothing else tells: a body is bytes by now. A preview holds no contents.
    private static func contentTypes(_ body: MultipartBody) -> [String?] {
        let lines = body.preview().split(separator: "\n", omittingEmptySubsequences: false)
        return lines.split { $0.hasPrefix("--\(body.boundary)") }.map { head in
            head.first { $0.hasPrefix("Content-Type: ") }.map { String($0.dropFirst(14)) }
        }
    }
}

extension [RehearsedPart] {
    /// The parts, without the sizes of those that were not read.
    func leavingOut(_ unread: Set<Int>) -> [RehearsedPart] {
        enumerated().map { index, part in
            var part = part
            guard unread.contains(index) else { return part }
            (part.size, part.isUnread) = (nil, true)
            return part
        }
    }
}
