import FlyingFox
import FlyingSocks
import Foundation

/// The body of an answer that is the last one on its connection, because the request's body was not read.
///
/// What is left of that body must not be taken for the next request, so the connection has to close; and it must not
/// close at once, because a RST can overtake the answer (RFC 9112 section 9.6). So after the answer some of the rest is
/// read and thrown away. FlyingFox closes a connection whose body throws; that is how the end is said.
struct FarewellBody: AsyncBufferedSequence {
    typealias Element = UInt8

    let answer: Data
    let rest: HTTPBodySequence
    let bytesLeft: Int

    /// How much is read for the sake of a client that does not listen while it sends.
    private static let patience = 8 << 20

    struct Done: Error {}

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }

    struct AsyncIterator: AsyncBufferedIteratorProtocol {
        let body: FarewellBody
        private var isAnswered = false

        init(body: FarewellBody) { self.body = body }

        mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

        mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
            guard isAnswered else {
                isAnswered = true
                return Array(body.answer)
            }
            var left = Swift.min(body.bytesLeft, FarewellBody.patience)
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
