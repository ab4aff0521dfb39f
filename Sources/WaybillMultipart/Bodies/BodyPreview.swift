import WaybillCore

/// A description of a body without its contents.
struct BodyPreview {
    let text: String

    init(_ body: MultipartBody) {
        var lines: [UInt8] = []
        var walker = Walker(body.layout)
        for segment in body.segments.segments {
            switch segment {
            case .bytes(let bytes): walker.pass(bytes, into: &lines)
            case .file(let slice): walker.skip(slice.count, into: &lines)
            case .stream(let number):
                let length = body.segments.streams[number].length
                if length == nil { walker.noteUnknown() }
                walker.skip(length ?? 0, into: &lines)
            case .verification: break
            }
        }
        text = Self.visible(String(decoding: lines, as: UTF8.self), delimiter: "--\(body.boundary)")
    }

    private static func visible(_ text: String, delimiter: String) -> String {
        // CRLF is one Character, so lines are split by scalars.
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let line = line.last == "\r" ? line.dropLast() : line
            return String(quoted(redacted(String(line), delimiter), limit: .max).dropFirst().dropLast())
        }.joined(separator: "\n")
    }

    /// Returns a header line without values that may be credentials; other lines unchanged.
    private static func redacted(_ line: String, _ delimiter: String) -> String {
        guard !line.utf8.starts(with: delimiter.utf8), let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return line
        }
        let header = MultipartHeader(
            name: String(line[..<colon]),
            value: String(line.utf8[colon...].dropFirst(2)) ?? Secret.placeholder)
        return header.description
    }

    /// Iterates over the bytes of a body and distinguishes contents from the rest.
    private struct Walker {
        private let layout: [BodyPart]
        private var next = 0
        private var offset: Int64 = 0
        private var isUnknown = false

        init(_ layout: [BodyPart]) {
            self.layout = layout
        }

        mutating func noteUnknown() { isUnknown = true }

        mutating func pass(_ bytes: [UInt8], into lines: inout [UInt8]) {
            var start = 0
            while start < bytes.count {
                guard next < layout.count else {
                    lines += bytes[start...]
                    offset += Int64(bytes.count - start)
                    return
                }
                let range = layout[next].range
                if offset < range.lowerBound {
                    let count = Int(min(range.lowerBound - offset, Int64(bytes.count - start)))
                    lines += bytes[start..<start + count]
                    start += count
                    offset += Int64(count)
                } else {
                    let count = min(range.upperBound - offset, Int64(bytes.count - start))
                    start += Int(count)
                    skip(count, into: &lines)
                }
            }
        }

        mutating func skip(_ count: Int64, into lines: inout [UInt8]) {
            offset += count
            guard next < layout.count, offset == layout[next].range.upperBound else { return }
            let size = layout[next].range.upperBound - layout[next].range.lowerBound
            lines += (isUnknown ? "<a stream of unknown length>" : "<\(size) bytes>").utf8
            isUnknown = false
            next += 1
        }
    }
}
