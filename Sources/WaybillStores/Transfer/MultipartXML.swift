import HTTPTypes
import Waybill

/// Parses and writes the XML of multipart uploads.
enum MultipartXML {
    static func uploadID(in response: UploadResponse) throws(StoreError) -> String {
        let root = try read(response, "InitiateMultipartUploadResult")
        guard let id = root["UploadId"], !id.isEmpty, id.utf8.count <= 1_024 else {
            throw StoreError(.unexpectedResponse, "The store initiated an upload but returned no upload ID.")
        }
        return id
    }

    /// Returns a page of parts, with their checksums in an element, and the marker of the next page.
    static func parts(
        in response: UploadResponse, checksum element: String?
    ) throws(StoreError) -> (parts: [PartReceipt], next: Int?) {
        let root = try read(response, "ListPartsResult")
        let parts = root.all("Part").compactMap { part -> PartReceipt? in
            guard let number = part["PartNumber"].flatMap({ Int($0) }), let size = part["Size"].flatMap({ Int64($0) }),
                let tag = part["ETag"]
            else { return nil }
            return PartReceipt(number: number, size: size, tag: tag, checksum: element.flatMap { part[$0] })
        }
        guard root["IsTruncated"] == "true" else { return (parts, nil) }
        guard let next = root["NextPartNumberMarker"].flatMap({ Int($0) }) else {
            throw StoreError(
                .unexpectedResponse,
                "The list of parts from the store is truncated but has no marker for the next page.")
        }
        return (parts, next)
    }

    /// Returns the list of parts to assemble, with their checksums if an element is named.
    static func completion(of receipts: [PartReceipt], checksum element: String? = nil) -> [UInt8] {
        var text = "<CompleteMultipartUpload>"
        for receipt in receipts {
            text += "<Part><PartNumber>\(receipt.number)</PartNumber><ETag>\(escaped(receipt.tag))</ETag>"
            if let element, let checksum = receipt.checksum { text += "<\(element)>\(checksum)</\(element)>" }
            text += "</Part>"
        }
        return Array((text + "</CompleteMultipartUpload>").utf8)
    }

    private static func read(_ response: UploadResponse, _ name: String) throws(StoreError) -> XMLNode {
        let why: String
        do throws(BoundedXMLParser.ParseError) {
            let root = try BoundedXMLParser.read(response.body)
            if root.name == name { return root }
            why = "its root element is \(StoreError.shown(root.name, atMost: 60))"
        } catch {
            why = error.description
        }
        var error = StoreError(
            .unexpectedResponse, "The response of the store is not a valid \(name): \(why).", outcome: .unknown)
        error.status = response.status.code
        error.requestID = response.headers[.ossRequestID] ?? response.headers[.s3RequestID]
        throw error
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
