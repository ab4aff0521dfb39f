import TestSupport

@testable import WaybillCurl

/// Generates responses, most of them valid, and damages some of them.
struct ResponseGrammar {
    var random: SeededGenerator

    private static let statusLines = pieces([
        "HTTP/1.1 200 OK", "HTTP/1.1 201 Created", "HTTP/1.0 200 OK", "HTTP/1.1 204 No Content",
        "HTTP/1.1 304 Not Modified", "HTTP/1.1 500 ", "HTTP/1.1 404", "HTTP/1.1 999 \u{E9}",
        "HTTP/1.1 101 Switching Protocols", "HTTP/1.1 2000 No", "HTTP/1.2 200 OK", "HTTP/2 200", "SSH-2.0-OpenSSH",
        "HTTP/1.1 99 No", "HTTP/1.1  200", "HTTP/1.1", "HTTP/1.1 200 " + long, "HTTP/1.2 " + long,
    ])
    private static let interimLines = pieces([
        "HTTP/1.1 100 Continue", "HTTP/1.1 103 Early Hints", "HTTP/1.1 102 ",
        "HTTP/1.1 104 Upload Resumption Supported",
    ])
    private static let fields = pieces([
        "X: y", "Connection: close", "Connection: keep-alive", "Connection: Keep-Alive, x", "connection:\tx ,CLOSE",
        "Date: now", " folded", "\tX: folded", "no colon", "X : y", "X:", ": y", "Set-Cookie: a=\"\u{E9}\"",
        "Connection : x", "X: \(long)", "X: \0\(long)", "Transfer-Encoding: \(long)",
    ])
    private static let framingFields = pieces([
        "Content-Length: 5", "content-length:5", "Content-Length: 6", "Content-Length: 5, 5", "Content-Length: 05 ",
        "Content-Length: 0", "Content-Length: -5", "Content-Length:", "Content-Length : 5", "Content-Length: 5,",
        "Content-Length: 9223372036854775808", "Content-Length: 5\u{1}", "Transfer-Encoding: chunked",
        "transfer-encoding:Chunked ", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: identity", "Transfer-Encoding: identity,chunked", "Transfer-Encoding: chunked,identity",
        "Transfer-Encoding:", "Transfer-Encoding : chunked", "Transfer-Encoding: chun\u{212A}ed",
        "Transfer-Encoding\t: x",
    ])
    private static let sizes = pieces([
        "0", "5", "05", "00000", "A", "a", "1", "5 ", "5;x", "5 ; x=\"y\"", "5\t;", "7fffffffffffffff",
    ])
    private static let wrongSizes = pieces([
        "", "x", " 5", "5x", "-5", "0x5", "5\u{1};", "4000000000000000", "5\r;", ";", "3fffffffffffffff",
    ])
    private static let trailers = pieces(["X: y", "Content-Length: 9", " folded", "HTTP/1.1 200 OK", "x", long])
    private static let ends = pieces(["\n", "\r\r\n", "\r", "", " \r\n"])
    private static let damage = pieces([
        "\r", "\n", "\0", " ", ":", "0", "5", "f", ",", "\r\n", "\r\n\r\n", "\t", "\u{7F}", "\u{301}", ";",
        "HTTP/1.1 200 OK\r\n",
    ])
    /// Longer than a head may be with narrow limits.
    private static let long = String(repeating: "long ", count: 26)
    private static let crlf: [UInt8] = [13, 10]
    private static let letters = Array("hello, world; these are bytes".utf8)

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// Returns a response, and options to parse it with.
    mutating func next() -> (response: [UInt8], options: ResponseOptions) {
        var response: [UInt8] = []
        while chance(10) {
            response += pick(Self.interimLines) + lineEnd()
            while chance(20) { response += field() }
            response += lineEnd()
        }
        let plain = chance(75)
        response += (plain ? Self.statusLines[chance(80) ? below(3) : below(7)] : pick(Self.statusLines)) + lineEnd()
        // 0: a length, 1: chunks, 2: neither.
        let framing = plain ? [0, 0, 1, 1, 1, 2][below(6)] : below(3)
        let percent = chance(12) ? 75 : 30
        while chance(percent) { response += field() }
        if framing < 2 { response += Self.framingFields[framing == 0 ? below(2) : 12 + below(2)] + lineEnd() }
        while chance(percent / 2) { response += field() }
        response += lineEnd()
        switch framing {
        case 0: response += Self.letters[..<5]
        case 1: addChunks(to: &response)
        default: response += Self.letters[..<below(chance(80) ? 8 : 29)]
        }
        if chance(6) { response += pick(Self.damage) }
        if chance(25) { damage(&response) }
        var options = chance(20) ? ResponseOptions.narrow : ResponseOptions()
        options.isToHEAD = chance(6)
        return (response, options)
    }

    /// Returns a position at which to cut a response.
    mutating func cut(_ response: [UInt8]) -> Int { below(response.count + 1) }

    private mutating func field() -> [UInt8] {
        (chance(85) ? pick(Self.fields) : pick(Self.framingFields)) + lineEnd()
    }

    private mutating func addChunks(to response: inout [UInt8]) {
        while chance(65) {
            let size = chance(95) ? Self.sizes[1 + below(Self.sizes.count - 2)] : pick(Self.wrongSizes + Self.sizes)
            let text = String(decoding: size.prefix { $0 != 0x20 && $0 != 0x3B && $0 != 9 }, as: UTF8.self)
            let count = Int(text, radix: 16) ?? 0
            response += size + lineEnd(rarely: true)
            response += Self.letters.prefix(max(0, count)) + lineEnd(rarely: true)
        }
        response += Self.sizes[chance(80) ? 0 : 3] + lineEnd(rarely: true)
        while chance(20) { response += pick(Self.trailers) + lineEnd() }
        response += lineEnd()
    }

    private mutating func damage(_ response: inout [UInt8]) {
        repeat {
            guard !response.isEmpty else { return }
            let start = below(response.count)
            let end = min(response.count, start + below(4))
            switch below(5) {
            case 0: response.removeLast(response.count - start)
            case 1: response.removeSubrange(start..<end)
            case 2: response.replaceSubrange(start..<end, with: pick(Self.damage))
            case 3: response.insert(contentsOf: response[start..<end], at: below(response.count))
            default: response[start] = UInt8(truncatingIfNeeded: random.next())
            }
        } while chance(40)
    }

    private mutating func lineEnd(rarely: Bool = false) -> [UInt8] {
        chance(rarely ? 99 : 96) ? Self.crlf : chance(70) ? Self.ends[0] : pick(Self.ends)
    }

    // The generators of the standard library take most of the time in a debug build.
    private mutating func below(_ bound: Int) -> Int { Int((random.next() >> 33) % UInt64(bound)) }
    private mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
    private mutating func pick(_ pieces: [[UInt8]]) -> [UInt8] { pieces[below(pieces.count)] }
    private static func pieces(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }
}
