internal import CTestSupport
internal import FoundationEssentials

extension OSSWork {
    func initiate(_ state: inout OSSState) throws -> OSSReply {
        try checkOverwrite(state, call.name!, call.request.value(of: "x-oss-forbid-overwrite"))
        let id = StoreText.hex(UInt64(state.nextUpload)) + "B9894A22E5B1888A1E29F823"
        state.nextUpload += 1
        state.uploads[id] = OSSOpenUpload(bucket: call.bucket!, key: call.key, fields: Self.kept(call.request.fields))
        return .xml("InitiateMultipartUploadResult", place + [("UploadId", id)])
    }

    func uploadPart(_ state: inout OSSState) throws -> OSSReply {
        guard let number = call.partNumber, (1...10_000).contains(number) else {
            throw OSSRefusal.badRequest("Part number must be an integer between 1 and 10000, inclusive.")
        }
        let sums = try checkSum(try upload(state))
        if let md5 = call.request.filled("Content-MD5") { try checkDigest(md5, body) }
        state.uploads[call.uploadID!]!.parts[number] = body
        state.counts[.init(uploadID: call.uploadID!, number: number), default: .init()].stored += 1
        return OSSReply(fields: [("ETag", "\"\(body.md5)\"")] + sums, checksum: body.crc64)
    }

    func checkDigest(_ md5: String, _ body: StoredBytes) throws {
        guard let digest = Data(base64Encoded: md5), digest.count == 16 else {
            throw OSSRefusal(400, "InvalidDigest", "The Content-MD5 you specified is not valid.", ec: "0017-00000203")
        }
        guard StoreText.hex(digest).uppercased() == body.md5 else {
            throw OSSRefusal(
                400, "InvalidDigest", "The Content-MD5 you specified was invalid.", ec: "0017-00000204",
                details: [("ClientMD5", md5), ("ServerMD5", body.md5)])
        }
    }

    func listParts(_ state: OSSState) throws -> OSSReply {
        let upload = try upload(state)
        let asked = try number("max-parts", in: 1...1_000) ?? 1_000
        let marker = try number("part-number-marker", in: 0...10_000) ?? 0
        let rest = upload.parts.filter { $0.key > marker }.sorted { $0.key < $1.key }
        let page = rest.prefix(min(asked, settings.largestPage))
        let parts = page.map { number, part in
            var checksum = settings.dialect == .oss ? "\n    <HashCrc64ecma>\(part.crc64)</HashCrc64ecma>" : ""
            if let sum = S3Sum.begun(upload), let bytes = part.bytes {
                checksum = "\n    <\(sum.element)>\(sum.value(bytes))</\(sum.element)>"
            }
            return """
                  <Part>
                    <PartNumber>\(number)</PartNumber>
                    <LastModified>\(StoreDate.iso(gate.now))</LastModified>
                    <ETag>"\(part.md5)"</ETag>\(checksum)
                    <Size>\(part.size)</Size>
                  </Part>

                """
        }.joined()
        return .xml(
            "ListPartsResult",
            place + [
                ("UploadId", call.uploadID!), ("PartNumberMarker", "\(marker)"),
                ("NextPartNumberMarker", "\(page.last?.key ?? marker)"), ("MaxParts", "\(asked)"),
                ("IsTruncated", rest.count > page.count ? "true" : "false"),
            ], inner: parts)
    }

    func complete(_ state: inout OSSState) throws -> OSSReply {
        let upload = try upload(state)
        let numbers = try namedParts(of: upload)
        guard numbers == numbers.sorted(), Set(numbers).count == numbers.count else {
            throw OSSRefusal(
                400, "InvalidPartOrder",
                "The list of parts was not in ascending order. Parts list must specified in order by part number.",
                ec: "0042-00000206")
        }
        let parts = numbers.map { upload.parts[$0]! }
        if let small = parts.dropLast().firstIndex(where: { $0.size < settings.smallestPart }) {
            throw OSSRefusal(
                400, "EntityTooSmall", "Your proposed upload smaller than the minimum allowed size.",
                ec: "0042-00000213",
                details: [("MinSizeAllowed", "\(settings.smallestPart)"), ("PartNumber", "\(numbers[small])")])
        }
        try checkOverwrite(
            state, call.name!,
            call.request.value(of: "x-oss-forbid-overwrite") ?? upload.fields["x-oss-forbid-overwrite"])
        let callback = try OSSCallback(call)
        let sum = try checkSum(of: parts, upload)
        var object = OSSObject(kind: .multipart, fields: upload.fields)
        object.checksum = sum.map { ($0.sum.field, $0.value) }
        for part in parts {
            object.content.crc64 = cts_crc64_join(object.content.crc64, part.crc64, UInt64(part.size))
            object.content.size += part.size
        }
        let pieces = parts.compactMap(\.bytes)
        object.content.bytes =
            pieces.count == parts.count && object.content.size <= settings.keepsBodiesUpTo ? pieces.flatMap { $0 } : nil
        object.parts = Dictionary(uniqueKeysWithValues: zip(numbers, parts))
        object.etag = etag(of: parts)
        object.callback = callback?.expanded(call, object)
        add(object, call.name!, to: &state)
        state.uploads[call.uploadID!] = nil
        var reply = reply(for: object, callback)
        if !reply.calledBack {
            let xml = OSSReply.xml(
                "CompleteMultipartUploadResult",
                [
                    (
                        "Location",
                        "http://\(call.request.value(of: "Host") ?? "")/\(StoreText.encoded(call.key, also: "/"))"
                    )
                ]
                    + place + [("ETag", "\"\(object.etag)\"")] + (sum.map { [($0.sum.element, $0.value)] } ?? []))
            reply.fields += xml.fields
            reply.body = xml.body
        }
        if settings.dialect == .s3 {
            // A completion that takes long sends whitespace first, and its ETag only in the body.
            reply.fields.removeAll { $0.0 == "ETag" }
            reply.body = Array(" \n \n".utf8) + reply.body
        }
        return reply
    }

    /// Returns the ETag of an object in parts. S3 hashes the digests of the parts, not their text.
    private func etag(of parts: [StoredBytes]) -> String {
        let digests = parts.flatMap { part -> [UInt8] in
            let digits = Array(part.md5.utf8)
            guard settings.dialect == .s3 else { return digits }
            return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(digits[$0..<$0 + 2].text, radix: 16) }
        }
        return "\(BodyIntake.stored(digests).md5)-\(parts.count)"
    }

    /// Returns the parts that the body of Complete names. Each must exist with that ETag.
    private func namedParts(of upload: OSSOpenUpload) throws -> [Int] {
        if call.request.value(of: "x-oss-complete-all") == "yes" {
            guard body.size == 0 else { throw OSSRefusal.badRequest("x-oss-complete-all goes without a body.") }
            return upload.parts.keys.sorted()
        }
        guard let bytes = body.bytes, let text = String(validating: bytes, as: UTF8.self),
            text.contains("<CompleteMultipartUpload"), text.contains("</CompleteMultipartUpload>")
        else { throw OSSRefusal.malformedXML("The XML you provided was not well-formed.") }
        let parts = StoreText.elements("Part", in: text)
        guard !parts.isEmpty else { throw OSSRefusal.malformedXML("There is no Part.") }
        return try parts.map { part in
            guard let number = StoreText.elements("PartNumber", in: part).first.flatMap({ Int($0.trimmingWhitespace) }),
                let etag = StoreText.elements("ETag", in: part).first
            else { throw OSSRefusal.malformedXML("A Part lacks its number or its ETag.") }
            let digest = String(StoreText.fromXML(etag).trimmingWhitespace.filter { $0 != "\"" })
            guard let known = upload.parts[number], known.md5 == digest.uppercased() else {
                throw OSSRefusal(
                    400, "InvalidPart",
                    "One or more of the specified parts could not be found or the specified entity tag might not have matched the part's entity tag.",
                    ec: "0042-00000204", details: [("PartNumber", "\(number)"), ("ETag", digest)])
            }
            return number
        }
    }

    /// Returns the upload that the request names, of its bucket and key.
    func upload(_ state: OSSState) throws -> OSSOpenUpload {
        let id = call.uploadID ?? ""
        guard let upload = state.uploads[id], upload.bucket == call.bucket, upload.key == call.key else {
            throw OSSRefusal.noSuchUpload(id)
        }
        return upload
    }

    private var place: [(String, String)] {
        let isEncoded = call.query("encoding-type") == "url"
        return [
            ("Bucket", call.bucket!),
            ("Key", isEncoded ? StoreText.encoded(call.key, also: "/") : call.key.text),
        ] + (isEncoded ? [("EncodingType", "url")] : [])
    }

    private func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = call.query(name), !text.isEmpty else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw OSSRefusal.badRequest(
                "Argument \(name) must be an integer between \(range.lowerBound) and \(range.upperBound).")
        }
        return number
    }
}
