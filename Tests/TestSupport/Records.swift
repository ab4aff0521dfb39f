/// What a ``LoopbackServer`` has seen so far.
package struct ServerState: Sendable {
    /// In the order in which they were accepted.
    package var connections: [ConnectionRecord] = []
    /// In the order in which their heads were complete.
    package var requests: [RecordedRequest] = []
    /// What in the requests was against RFC 9112. A well-behaved client leaves it empty.
    package var complaints: [String] = []
}

/// A connection as the server saw it.
package struct ConnectionRecord: Sendable {
    /// How the peer ended it.
    package enum PeerEnd: Sendable, Hashable {
        /// With a FIN.
        case finished
        /// With a RST.
        case reset
        /// Its program closed the descriptor while the server read nothing, so that the FIN is stuck behind data.
        case letGo
    }

    /// How the peer ended the connection, or `nil` while it has not, or if the server ended it first.
    package var peerEnd: PeerEnd?
    /// When the server noticed `peerEnd`; within 20 ms of it, even when it reads nothing.
    package var peerEndedAt: ContinuousClock.Instant?
    /// Whether the server has closed its side.
    package var isClosed = false
}

/// A request as it arrived.
package struct RecordedRequest: Sendable {
    /// The index of its connection in ``ServerState/connections``.
    package let connection: Int
    /// Its number on that connection, from 0.
    package let numberOnConnection: Int
    /// The request line and the header lines, each without its CRLF.
    package let lines: [String]
    /// The decoded body as far as it was read; empty when the server was told not to keep bodies.
    package var body: [UInt8] = []
    /// How many body bytes the server's program has read.
    package var bodyBytesRead = 0
    /// ``BodyDigest`` of what was read.
    package var digest = BodyDigest()
    /// Header lines after a chunked body.
    package var trailers: [String] = []
    /// Whether the body was read to its end.
    package var isComplete = false
    /// The status of the last answer that was sent, interim ones included.
    package var answered: Int?

    /// `POST`.
    package var method: String { word(0) }
    /// `/path?query`, or an absolute URL when the server is asked as a proxy.
    package var target: String { word(1) }
    /// The target without its query.
    package var path: String { String(target.prefix { $0 != "?" }) }
    /// The header lines.
    package var headerLines: ArraySlice<String> { lines.dropFirst() }

    /// All values of a field, in order, without the blanks around them.
    package func values(of name: String) -> [String] {
        headerLines.compactMap { line in
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else {
                return nil
            }
            return String(line[line.index(after: colon)...].trimmingBlanks)
        }
    }

    /// The first value of a field.
    package func value(of name: String) -> String? { values(of: name).first }

    private func word(_ index: Int) -> String {
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        return index < words.count ? String(words[index]) : ""
    }
}

extension StringProtocol {
    /// Without blanks and tabs at both ends.
    var trimmingBlanks: SubSequence {
        let start = firstIndex { $0 != " " && $0 != "\t" } ?? endIndex
        guard let last = lastIndex(where: { $0 != " " && $0 != "\t" }) else { return self[start..<start] }
        return self[start...last]
    }
}
