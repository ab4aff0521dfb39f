// Properties of every form. The fuzzer links to this file, so it uses only public API.

import WaybillMultipart

/// A form derived from bytes, and the expected result of encoding it, computed without the encoder.
struct PlannedForm {
    struct Part {
        var name: String
        var fileName: String?
        var contentType: String?
        var note: String?
        var content: [UInt8]
        var isText: Bool
    }

    var boundary: String
    var parts: [Part] = []

    /// Creates a form from arbitrary bytes, which become choices, names and contents.
    init(_ input: [UInt8]) {
        var source = ChoiceSource(input)
        boundary = ["B", "golden-boundary", String(repeating: "x", count: 70)][source.choice(of: 3)]
        for _ in 0..<source.choice(of: 24) where !source.isEmpty {
            parts.append(
                Part(
                    name: source.text(), fileName: source.choice(of: 2) == 0 ? nil : source.text(),
                    contentType: source.choice(of: 3) == 0 ? source.text() : nil,
                    note: source.choice(of: 4) == 0 ? source.text() : nil, content: source.bytes(), isText: false))
            if source.choice(of: 2) == 0 {
                // Bytes that are not UTF-8 cannot be a text.
                let text = String(decoding: parts[parts.count - 1].content, as: UTF8.self)
                parts[parts.count - 1].content = Array(text.utf8)
                parts[parts.count - 1].isText = true
            }
        }
    }

    /// The form as a user would write it.
    var form: MultipartForm {
        MultipartForm(
            parts.map { plan in
                var part: MultipartPart =
                    plan.isText
                    ? .text(plan.name, String(decoding: plan.content, as: UTF8.self))
                    : .data(plan.name, plan.content)
                part.fileName = plan.fileName
                part.contentType = plan.contentType
                if let note = plan.note { part.headers = [MultipartHeader(name: "X-Note", value: note)] }
                return part
            })
    }
}

/// Checks the form derived from an input: it is refused for a valid reason, or its length is as promised and the
/// parser returns the original parts, however the bytes are split.
///
/// - Returns: The violated property, or `nil`.
func formViolation(of input: [UInt8]) async -> String? {
    let plan = PlannedForm(input)
    var encoded: [UInt8] = []
    do {
        let body = try await plan.form.prepared(boundary: MultipartBoundary(plan.boundary))
        for try await chunk in body.chunks { encoded += chunk }
        if body.length != Int64(encoded.count) { return "\(encoded.count) bytes, \(body.length ?? -1) promised" }
        for (part, place) in zip(plan.parts, body.parts) {
            let range = Int(place.range.lowerBound)..<Int(place.range.upperBound)
            if Array(encoded[range]) != part.sentContent {
                return "the content of \(place.name) is not where it should be"
            }
        }
    } catch {
        return plan.refusals.contains(error.code) ? nil : "refused, but not for \(plan.refusals): \(error)"
    }
    guard plan.refusals.isEmpty || plan.refusals == [.headerTooLarge] else { return "not refused for \(plan.refusals)" }
    return plan.readingViolation(of: encoded)
}

extension PlannedForm {
    fileprivate func readingViolation(of encoded: [UInt8]) -> String? {
        var limits = MultipartLimits()
        limits.headerBytes = 64 * 1_024
        let steps = [1, 2 + encoded.count % 61, max(1, encoded.count)]
        for step in steps {
            let cuts = Array(stride(from: step, to: encoded.count, by: step))
            let record = ParserRecord(encoded, cutAt: cuts, boundary: boundary, limits: limits)
            if let code = record.errorCode { return "cut every \(step): the parser says \(code)" }
            guard record.parts.count == parts.count else { return "\(record.parts.count) parts of \(parts.count)" }
            for (index, (read, part)) in zip(record.parts, parts).enumerated() {
                if read.bytes != part.sentContent { return "cut every \(step): the content of part \(index) changed" }
                if !part.isNamed(by: read.head) {
                    return "cut every \(step): part \(index) became \(read.head)"
                }
            }
        }
        return nil
    }

    /// The reasons for which the form must be refused. ``BodyError/Code/headerTooLarge`` alone means that it may be
    /// refused.
    fileprivate var refusals: Set<BodyError.Code> {
        var codes: Set<BodyError.Code> = []
        for part in parts {
            if part.name.utf8.isEmpty { codes.insert(.emptyFieldName) }
            if part.name.utf8.contains(0) { codes.insert(.invalidFieldName) }
            if part.fileName?.utf8.contains(0) == true { codes.insert(.invalidFileName) }
            if let type = part.contentType, type.utf8.isEmpty || type.utf8.contains(where: { $0 < 32 || $0 == 127 }) {
                codes.insert(.invalidContentType)
            }
            if part.note?.utf8.contains(where: { ($0 < 32 && $0 != 9) || $0 == 127 }) == true {
                codes.insert(.invalidHeader)
            }
            let header = [
                escaped(normal(part.name)), escaped(Array((part.fileName ?? "").utf8)),
                Array((part.contentType ?? "").utf8), Array((part.note ?? "").utf8),
            ]
            if header.reduce(0, { $0 + $1.count }) > 15_000 { codes.insert(.headerTooLarge) }
            if (header + [part.sentContent]).contains(where: { occurs(boundary, in: $0) }) {
                codes.insert(.boundaryInContent)
            }
        }
        return codes
    }
}

extension PlannedForm.Part {
    fileprivate var sentContent: [UInt8] {
        isText ? normal(String(decoding: content, as: UTF8.self)) : content
    }

    fileprivate func isNamed(by head: MultipartPartHead) -> Bool {
        Array(head.name.utf8) == decoded(escaped(normal(name)))
            && head.fileName.map { Array($0.utf8) } == fileName.map { decoded(escaped(Array($0.utf8))) }
            && (contentType == nil || head.contentType.map { Array($0.utf8) } == contentType.map(trimmed))
            && head.headers.last { $0.name == "X-Note" }.map { Array($0.value.utf8) } == note.map(trimmed)
    }
}

/// The input of a fuzzer, consumed piece by piece. Returns zeros when exhausted.
private struct ChoiceSource {
    private var rest: ArraySlice<UInt8>

    init(_ input: [UInt8]) { rest = input[...] }

    var isEmpty: Bool { rest.isEmpty }

    mutating func choice(of count: Int) -> Int { Int(rest.popFirst() ?? 0) % count }

    /// Returns the number of bytes given by the first one: 0 to 127, or up to 16 times as many.
    mutating func bytes() -> [UInt8] {
        let size = Int(rest.popFirst() ?? 0)
        let taken = rest.prefix(size < 128 ? size : (size - 127) * 16)
        rest = rest.dropFirst(taken.count)
        return Array(taken)
    }

    mutating func text() -> String { String(decoding: bytes(), as: UTF8.self) }
}

/// Replaces every CR, LF and CRLF by CRLF.
private func normal(_ text: String) -> [UInt8] {
    var result: [UInt8] = []
    var previous: UInt8 = 0
    for byte in text.utf8 {
        if byte == 13 || (byte == 10 && previous != 13) { result += [13, 10] }
        if byte != 13, byte != 10 { result.append(byte) }
        previous = byte
    }
    return result
}

private func escaped(_ bytes: [UInt8]) -> [UInt8] {
    let escapes: [UInt8: String] = [10: "%0A", 13: "%0D", 34: "%22"]
    return bytes.flatMap { escapes[$0].map { Array($0.utf8) } ?? [$0] }
}

private func decoded(_ bytes: [UInt8]) -> [UInt8] {
    let escapes: [[UInt8]: UInt8] = [
        Array("%0A".utf8): 10, Array("%0a".utf8): 10, Array("%0D".utf8): 13, Array("%0d".utf8): 13,
        Array("%22".utf8): 34,
    ]
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
        let escape = escapes[Array(bytes[index...].prefix(3))]
        result.append(escape ?? bytes[index])
        index += escape == nil ? 1 : 3
    }
    return result
}

private func trimmed(_ text: String) -> [UInt8] {
    var bytes = Array(text.utf8)[...]
    while let first = bytes.first, first == 32 || first == 9 { bytes.removeFirst() }
    while let last = bytes.last, last == 32 || last == 9 { bytes.removeLast() }
    return Array(bytes)
}

private func occurs(_ wanted: String, in bytes: [UInt8]) -> Bool {
    let wanted = Array(wanted.utf8)
    return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
}
