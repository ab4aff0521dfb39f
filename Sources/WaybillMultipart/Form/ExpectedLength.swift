package import WaybillCore

/// The expected length of a body, as far as it is known before the body is prepared.
package struct ExpectedLength: Sendable, Hashable {
    package private(set) var bytes: Int64
    /// Whether this is the exact length, provided that no file changes.
    package private(set) var isExact: Bool

    package init(_ bytes: Int64, isExact: Bool = true) {
        (self.bytes, self.isExact) = (max(0, bytes), isExact)
    }

    mutating func add(_ other: ExpectedLength) {
        let (sum, isTooLarge) = bytes.addingReportingOverflow(other.bytes)
        bytes = isTooLarge ? .max : sum
        isExact = isExact && other.isExact
    }
}

/// A preparation that can estimate the length of its content in advance.
package protocol PartEstimating: PartPreparing {
    /// Returns the estimated number of bytes; `nil` if it is unknown.
    func expectedLength() async -> Int64?
}

extension MultipartForm {
    /// Returns the length of the body without preparing or opening anything: files are inspected with stat(2), text
    /// fields and headers are counted.
    ///
    /// - Returns: `nil` for a form with a stream of unknown length. The length of content that has yet to be prepared
    ///   is an estimate; JSON counts as zero bytes.
    package func expectedLength() async -> ExpectedLength? {
        let delimiter = PartDelimiter(.random(), mayOccur: false)
        let header = PartHeader(delimiter: delimiter, compatibility: compatibility)
        var length = ExpectedLength(Int64(delimiter.closing.count))
        var block: [UInt8] = []
        for (index, part) in parts.enumerated() {
            block.removeAll(keepingCapacity: true)
            let type = part.contentType ?? part.typeFromName(contentTypes)
            do throws(BodyError) {
                try header.append(part, contentType: type, to: &block, at: PartLocation(index: index, name: part.name))
            } catch {
                // The upload fails with this error before a byte is sent.
                return ExpectedLength(0, isExact: false)
            }
            length.add(ExpectedLength(Int64(block.count + FormText.lineBreak.count), isExact: !part.followsContent))
            guard let content = await part.expectedLength() else { return nil }
            length.add(content)
        }
        return length
    }
}

extension MultipartPart {
    fileprivate func expectedLength() async -> ExpectedLength? {
        switch content {
        case .text, .secret, .rawText, .bytes: return ExpectedLength(content.ready?.count ?? 0)
        case .file(_, let range?): return ExpectedLength(range.upperBound - range.lowerBound)
        case .file(let path, nil):
            let size = await FileSize.of(path)
            return ExpectedLength(size ?? 0, isExact: size != nil)
        case .stream(let stream): return stream.length.map { ExpectedLength($0) }
        case .preparing(let preparation):
            return ExpectedLength(await (preparation as? any PartEstimating)?.expectedLength() ?? 0, isExact: false)
        case .encoding, .refused: return ExpectedLength(0, isExact: false)
        }
    }
}
