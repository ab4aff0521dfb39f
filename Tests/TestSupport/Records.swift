internal import CTestSupport

/// The connections and requests that a ``LoopbackServer`` has recorded.
package struct ServerState: Sendable {
    /// The connections in the order in which they were accepted.
    package var connections: [ConnectionRecord] = []
    /// The requests in the order in which their heads were complete.
    package var requests: [RecordedRequest] = []
    /// Violations of RFC 9112 in the requests. Empty with a conforming client.
    package var violations: [String] = []
}

/// A connection as observed by the server.
package struct ConnectionRecord: Sendable {
    /// The way in which the peer closed it.
    package enum PeerEnd: Sendable, Hashable {
        /// With a FIN.
        case finished
        /// With a RST.
        case reset
        /// Its program closed the descriptor while the server was not reading, so that the FIN is queued behind data.
        case descriptorClosed
    }

    /// How the peer closed the connection; `nil` if it has not, or if the server closed it first.
    package var peerEnd: PeerEnd?
    /// When the server noticed `peerEnd`: within 20 ms, even if it is not reading.
    package var peerEndedAt: ContinuousClock.Instant?
    /// Whether the server has closed its side.
    package var isClosed = false
}

/// A request as received.
package struct RecordedRequest: Sendable {
    /// The index of its connection in ``ServerState/connections``.
    package let connection: Int
    /// Its number on that connection, from 0.
    package let numberOnConnection: Int
    /// The request line and the header lines, each without its CRLF.
    package let lines: [String]
    /// The decoded body read so far; empty if the server does not keep bodies.
    package var body: [UInt8] = []
    /// How many body bytes the server has read.
    package var bodyBytesRead = 0
    /// The ``BodyDigest`` of the bytes read.
    package var digest = BodyDigest()
    /// The header lines after a chunked body.
    package var trailers: [String] = []
    /// Whether the body was read completely.
    package var isComplete = false
    /// The status of the last response sent, including interim ones.
    package var responseStatus: Int?

    /// `POST`.
    package var method: String { word(0) }
    /// `/path?query`, or an absolute URL if the server is used as a proxy.
    package var target: String { word(1) }
    /// The target without its query.
    package var path: String { String(target.prefix { $0 != "?" }) }
    /// The header lines.
    package var headerLines: ArraySlice<String> { lines.dropFirst() }

    /// Returns all values of a field in order, without surrounding whitespace.
    package func values(of name: String) -> [String] {
        headerLines.compactMap { line in
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else {
                return nil
            }
            return String(line[line.index(after: colon)...].trimmingWhitespace)
        }
    }

    /// Returns the first value of a field.
    package func value(of name: String) -> String? { values(of: name).first }

    private func word(_ index: Int) -> String {
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        return index < words.count ? String(words[index]) : ""
    }
}

/// A running checksum (FNV-1a, 64 bits) for comparing bodies that are too large to store.
///
/// ```swift
/// #expect(request.digest == BodyDigest(of: expected))
/// ```
package struct BodyDigest: Sendable, Hashable {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    package init() {}

    package init(of bytes: [UInt8]) { update(bytes[...]) }

    /// Adds more bytes.
    package mutating func update(_ bytes: ArraySlice<UInt8>) {
        unsafe bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            state = unsafe cts_digest(state, start, buffer.count)
        }
    }
}

extension StringProtocol {
    /// The text without spaces and tabs at both ends.
    var trimmingWhitespace: SubSequence {
        let start = firstIndex { $0 != " " && $0 != "\t" } ?? endIndex
        guard let last = lastIndex(where: { $0 != " " && $0 != "\t" }) else { return self[start..<start] }
        return self[start...last]
    }
}
