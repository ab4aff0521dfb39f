import FlyingFox
import FlyingSocks
import Foundation

/// A response body that closes the connection, because the request body was not read completely.
///
/// The rest of the request body would be parsed as the next request, so the connection must close; and it must not close
/// immediately, because a RST can overtake the response (RFC 9112 section 9.6). Therefore part of the rest is read and
/// discarded after the response. The body then throws, which makes FlyingFox close the connection.
struct ClosingBody: AsyncBufferedSequence {
    typealias Element = UInt8

    let response: Data
    let rest: HTTPBodySequence
    let bytesLeft: Int

    /// The largest number of bytes discarded, for clients that read the response only after sending.
    private static let maxDiscarded = 8 << 20

    struct Done: Error {}

    func response(_ status: HTTPStatusCode, _ headers: HTTPHeaders) -> HTTPResponse {
        var headers = headers
        headers[.connection] = "close"
        return HTTPResponse(
            statusCode: status, headers: headers, body: HTTPBodySequence(from: self, count: response.count))
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }

    struct AsyncIterator: AsyncBufferedIteratorProtocol {
        let body: ClosingBody
        private var didRespond = false

        init(body: ClosingBody) { self.body = body }

        mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

        mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
            guard didRespond else {
                didRespond = true
                return Array(body.response)
            }
            var left = Swift.min(body.bytesLeft, ClosingBody.maxDiscarded)
            if left > 0 {
                for try await chunk in body.rest {
                    left -= chunk.count
                    if left <= 0 { break }
                }
            }
            throw Done()
        }
    }
}
