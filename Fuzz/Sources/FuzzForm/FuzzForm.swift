import WaybillMultipart

/// Any bytes, cut anywhere, give the same parts or the same error as in one piece. The first byte says how they are cut;
/// the boundary is `B`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzForm(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: size))
    guard let cut = input.first else { return 0 }
    let body = Array(input.dropFirst())
    let whole = parse(body, piece: body.count)
    let pieces = parse(body, piece: Int(cut) % 37 + 1)
    precondition(whole == pieces, "in one piece: \(whole)\nin pieces of \(Int(cut) % 37 + 1): \(pieces)")
    return 0
}

private func parse(_ body: [UInt8], piece: Int) -> Seen {
    var seen = Seen()
    do {
        var parser = try MultipartParser(boundary: MultipartBoundary("B"))
        var start = 0
        while start < body.count {
            let end = min(body.count, start + piece)
            try parser.feed(body.span.extracting(start..<end), to: &seen)
            start = end
        }
        try parser.finish()
    } catch let error as BodyError {
        seen.error = error.code.description
    } catch {
        preconditionFailure("an error of another type: \(error)")
    }
    return seen
}

private struct Seen: MultipartHandler, Equatable {
    struct Part: Equatable {
        var head: MultipartPartHead
        var data: [UInt8] = []
        var isEnded = false
    }

    var parts: [Part] = []
    var error: String?

    mutating func partBegan(_ head: MultipartPartHead) {
        precondition(parts.last?.isEnded ?? true, "a part began within a part")
        parts.append(Part(head: head))
    }

    mutating func partData(_ bytes: Span<UInt8>) {
        precondition(!bytes.isEmpty && parts.last?.isEnded == false, "data outside of a part")
        for index in bytes.indices { parts[parts.count - 1].data.append(bytes[index]) }
    }

    mutating func partEnded() {
        precondition(parts.last?.isEnded == false, "an end outside of a part")
        parts[parts.count - 1].isEnded = true
    }
}
