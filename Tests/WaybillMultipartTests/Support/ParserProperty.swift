// Properties of every input. The fuzzer links to this file, so it uses only public API.

import WaybillMultipart

/// The events and the error that a parser reported for a body.
struct ParserRecord: MultipartHandler, Hashable {
    struct Part: Hashable {
        var head: MultipartPartHead
        var bytes: [UInt8] = []
        var hasEnded = false
    }

    var parts: [Part] = []
    var errorCode: String?

    mutating func partBegan(_ head: MultipartPartHead) { parts.append(Part(head: head)) }

    mutating func partData(_ bytes: Span<UInt8>) {
        precondition(!bytes.isEmpty && !parts.isEmpty && !parts[parts.count - 1].hasEnded, "data outside a part")
        for index in bytes.indices { parts[parts.count - 1].bytes.append(bytes[index]) }
    }

    mutating func partEnded() {
        precondition(!parts.isEmpty && !parts[parts.count - 1].hasEnded, "a part ended twice")
        parts[parts.count - 1].hasEnded = true
    }

    /// Parses a body that arrives in the given pieces.
    init(_ body: [UInt8], cutAt cuts: [Int], boundary: String, limits: MultipartLimits) {
        do {
            var parser = try MultipartParser(boundary: boundary, limits: limits)
            var start = 0
            for end in cuts + [body.count] {
                try parser.feed(body.span.extracting(start..<end), to: &self)
                start = end
            }
            try parser.finish()
        } catch {
            errorCode = (error as? BodyError)?.code.description ?? "\(error)"
        }
    }
}

/// Returns small limits that short inputs reach.
func narrowLimits() -> MultipartLimits {
    var limits = MultipartLimits()
    limits.parts = 6
    limits.headerBytes = 200
    limits.headerLines = 4
    limits.parameters = 4
    limits.preambleBytes = 20
    limits.paddingBytes = 4
    limits.fieldBytes = .bytes(40)
    limits.total = .bytes(1_000)
    return limits
}

/// Checks an input: every way to split it yields the same parts, and the parsed result survives encoding and parsing.
///
/// - Returns: The violated property, or `nil`.
func violation(of body: [UInt8], boundary: String) async -> String? {
    for limits in [MultipartLimits(), narrowLimits()] {
        let whole = ParserRecord(body, cutAt: [], boundary: boundary, limits: limits)
        for cuts in waysToCut(body) {
            let record = ParserRecord(body, cutAt: cuts, boundary: boundary, limits: limits)
            if record != whole { return "cut at \(cuts.prefix(8)): \(record) instead of \(whole)" }
        }
        if whole.errorCode == nil, let broken = await roundTripViolation(of: whole) { return broken }
    }
    return oracleViolation(of: body, boundary: boundary)
}

/// Checks an input against the independently written parser.
private func oracleViolation(of body: [UInt8], boundary: String) -> String? {
    // Its searches are quadratic, and it has no limits. The limits here are wide, so that the two differ only by an
    // error.
    guard body.count <= 4_096 else { return nil }
    var limits = MultipartLimits()
    limits.parts = .max
    limits.headerBytes = .max
    limits.headerLines = .max
    limits.parameters = .max
    limits.paddingBytes = .max
    let record = ParserRecord(body, cutAt: [], boundary: boundary, limits: limits)
    let expected = NaiveParser.parts(body, boundary: boundary)
    guard (record.errorCode == nil) == (expected != nil) else {
        return "\(record.errorCode ?? "read"), the oracle says \(expected.map { "\($0.count) parts" } ?? "no")"
    }
    guard let expected else { return nil }
    let isEqual =
        record.parts.count == expected.count
        && zip(record.parts, expected).allSatisfy { ours, theirs in
            Array(ours.head.name.utf8) == theirs.name && ours.bytes == theirs.content
                && ours.head.fileName.map { Array($0.utf8) }
                    == theirs.fileName.map { Array(String(decoding: $0, as: UTF8.self).utf8) }
        }
    return isEqual ? nil : "\(record) instead of \(expected)"
}

/// Returns splits at every byte and at positions derived from the input.
private func waysToCut(_ body: [UInt8]) -> [[Int]] {
    guard body.count > 1 else { return [] }
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in body { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    let cut = 1 + Int(hash % UInt64(body.count - 1))
    let step = 2 + Int((hash >> 32) % 9)
    return [Array(1..<body.count), [cut], Array(stride(from: step, to: body.count, by: step))]
}

private func roundTripViolation(of record: ParserRecord) async -> String? {
    guard record.parts.allSatisfy(\.hasEnded) else { return "a part without an end in \(record)" }
    guard record.parts.allSatisfy({ isUnambiguous($0.head) }) else { return nil }
    let form = MultipartForm(
        record.parts.map {
            .data($0.head.name, $0.bytes, fileName: $0.head.fileName, contentType: $0.head.contentType)
        })
    var encoded: [UInt8] = []
    let boundary = "round-trip-4711"
    do {
        let body = try await form.prepared(boundary: MultipartBoundary(boundary))
        for try await chunk in body.chunks { encoded += chunk }
        if body.contentLength != Int64(encoded.count) {
            return "\(encoded.count) bytes, \(body.contentLength ?? -1) promised"
        }
    } catch {
        return refusals.contains(error.code) ? nil : "encoding failed: \(error)"
    }
    let again = ParserRecord(encoded, cutAt: [], boundary: boundary, limits: MultipartLimits())
    let isEqual =
        again.errorCode == nil && again.parts.count == record.parts.count
        && zip(again.parts, record.parts).allSatisfy { now, before in
            now.bytes == before.bytes && now.head.name == withNormalLineBreaks(before.head.name)
                && now.head.fileName == before.head.fileName
                && (before.head.contentType ?? now.head.contentType) == now.head.contentType
        }
    return isEqual ? nil : "\(again) instead of \(record) after a round trip"
}

/// The errors with which the encoder may refuse a form that the parser accepted.
private let refusals: Set<BodyError.Code> = [
    .emptyFieldName, .invalidContentType, .headerTooLarge, .boundaryInContent,
]

/// The WHATWG algorithm cannot distinguish an escape from a text that looks like one.
private func isUnambiguous(_ head: MultipartPartHead) -> Bool {
    let texts = [head.name, head.fileName ?? ""].map { $0.lowercased() }
    return !texts.contains { text in ["%22", "%0d", "%0a"].contains { contains($0, in: text) } }
}

private func contains(_ wanted: String, in text: String) -> Bool {
    let bytes = Array(text.utf8)
    return bytes.indices.contains { bytes[$0...].starts(with: wanted.utf8) }
}

private func withNormalLineBreaks(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    var previous: Unicode.Scalar = " "
    for scalar in text.unicodeScalars {
        if scalar == "\r" || (scalar == "\n" && previous != "\r") { result += ["\r", "\n"] }
        if scalar != "\r", scalar != "\n" { result.append(scalar) }
        previous = scalar
    }
    return String(result)
}
