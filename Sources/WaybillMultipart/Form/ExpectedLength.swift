package import WaybillCore

/// The length that a body will have, as far as it is known before the body is prepared.
package struct ExpectedLength: Sendable, Hashable {
    /// The bytes.
    package private(set) var bytes: Int64
    /// Whether it is the exact length, unless a file changes.
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

/// A preparation that can estimate the length of its content before it is run.
package protocol PartEstimating: PartPreparing {
    /// The estimate; `nil` where nothing is known.
    func expectedLength() async -> Int64?
}

extension MultipartForm {
    /// The length of the body, without making or opening anything: files are looked at, texts and headers are counted.
    ///
    /// - Returns: `nil` with a stream of unknown length. An estimate for content that has to be made; JSON counts nothing.
    package func expectedLength() async -> ExpectedLength? {
        let delimiter = PartDelimiter(.random(), mayOccur: false)
        let header = PartHeader(delimiter: delimiter, compatibility: compatibility)
        var length = ExpectedLength(Int64(delimiter.closing.count))
        var block: [UInt8] = []
        for (index, part) in parts.enumerated() {
            block.removeAll(keepingCapacity: true)
            let type = part.contentType ?? part.toldType(contentTypes)
            do throws(BodyError) {
                try header.append(part, contentType: type, to: &block, at: PartPlace(index: index, name: part.name))
            } catch {
                // The upload fails before a byte is sent, and says why.
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
    /// The length of its content.
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
