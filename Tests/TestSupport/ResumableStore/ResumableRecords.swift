extension ResumableServer {
    /// Bytes, or only their number and digest.
    package struct Content: Sendable, Hashable {
        /// The number of bytes.
        package private(set) var size = 0
        /// The bytes; `nil` if they are not kept.
        package private(set) var bytes: [UInt8]?
        /// The digest of the bytes; `nil` if it cannot be determined, because bytes that are not kept were removed or
        /// concatenated.
        package private(set) var digest: BodyDigest? = BodyDigest()

        init(keeps: Bool) { bytes = keeps ? [] : nil }

        mutating func append(_ more: ArraySlice<UInt8>) {
            size += more.count
            bytes?.append(contentsOf: more)
            digest?.update(more)
        }

        mutating func append(_ other: Content) {
            if let more = other.bytes {
                append(more[...])
            } else if other.size > 0 {
                digest = size == 0 ? other.digest : nil
                bytes = nil
                size += other.size
            }
        }

        mutating func truncate(to count: Int) {
            guard count < size else { return }
            size = count
            bytes?.removeSubrange(count...)
            digest = bytes.map { BodyDigest(of: $0) } ?? (count == 0 ? BodyDigest() : nil)
        }
    }

    /// An upload.
    package struct Upload: Sendable {
        /// The part of the upload in a concatenation (tus).
        package enum Part: Sendable, Hashable {
            case whole
            case partial
            case final
        }

        /// The last component of its path: `1` for the first upload.
        package let id: String
        /// Its path.
        package let path: String
        /// The protocol of its creation.
        package let dialect: Dialect
        /// The request that created it, without its content.
        package let creation: RecordedRequest
        /// The method that created it, after `X-HTTP-Method-Override`.
        package let method: String
        /// The part in a concatenation.
        package internal(set) var part = Part.whole
        /// The decoded `Upload-Metadata` (tus).
        package internal(set) var metadata: [String: [UInt8]] = [:]
        /// The length, if known.
        package internal(set) var length: Int?
        /// The stored content. Its size is the offset.
        package internal(set) var content: Content
        /// Whether the upload is complete.
        package internal(set) var isComplete = false
        /// Whether a client has deleted it.
        package internal(set) var isDeleted = false
        /// Whether it was invalidated, for example by content beyond its length.
        package internal(set) var isInvalid = false
        /// Whether the server has forgotten it.
        package internal(set) var isForgotten = false
        /// The application's response with the fields of the protocol, once it was produced (draft).
        package internal(set) var response: ScriptedResponse?
        /// The status for later requests if the upload is no longer accessible.
        var goneStatus: Int?
        /// The number of the request whose content is being appended.
        var owner: Int?
        /// The number of further requests that find the upload locked.
        var locks = 0

        /// The number of bytes stored.
        package var offset: Int { content.size }
        /// The bytes stored; empty if they are not kept.
        package var bytes: [UInt8] { content.bytes ?? [] }
        /// `Content-Type` of the creation.
        package var contentType: String? { creation.value(of: "Content-Type") }
    }

    /// A request as interpreted by the server.
    package struct Request: Sendable {
        /// Its index in ``State/requests``.
        package let number: Int
        /// Its kind.
        package let kind: Kind
        /// Its number among the requests of its kind, from 1.
        package let occurrence: Int
        /// The protocol that it uses; `nil` if none is supported.
        package let dialect: Dialect?
        /// Its method, after `X-HTTP-Method-Override`.
        package let method: String
        /// Its path without the query.
        package let path: String
        /// The identifier of the upload that it addresses or has created.
        package internal(set) var upload: String?
        /// The request line and the fields, without the content.
        package let head: RecordedRequest
        /// The offset in its `Upload-Offset`.
        package let claimedOffset: Int?
        /// The length in its `Upload-Length`.
        package let claimedLength: Int?
        /// The value of its `Upload-Complete`.
        package let saysComplete: Bool?
        /// How many content bytes the server has read.
        package internal(set) var bodyBytes = 0
        /// Whether its content was read completely.
        package internal(set) var isBodyComplete = false
        /// How many interim responses of the protocol were sent, without scripted ones and `100 Continue`.
        package internal(set) var interims = 0
        /// The status of the final response; `nil` if none was sent or only a part of it.
        package internal(set) var status: Int?
        /// Whether another transfer of the same upload was in progress when the request arrived. The server may not yet
        /// have noticed that the client has closed the other connection.
        package internal(set) var overlaps = false
        /// Whether a later request for the same upload took precedence before this one was performed.
        package internal(set) var wasEvicted = false
        /// Whether the request has ended.
        package internal(set) var isOver = false

        /// Returns the first value of a field.
        package func value(of name: String) -> String? { head.value(of: name) }
    }

    /// A representation that was handed to the application.
    package struct Run: Sendable {
        /// The upload; `nil` for an ordinary upload.
        package let upload: String?
        /// The protocol; `nil` for an ordinary upload.
        package let dialect: Dialect?
        /// The method of the creation.
        package let method: String
        /// The request line and the fields of the creation.
        package let creation: RecordedRequest
        /// The metadata of the creation (tus).
        package let metadata: [String: [UInt8]]
        /// The whole representation.
        package let content: Content

        /// The bytes of the representation; empty if they are not kept.
        package var bytes: [UInt8] { content.bytes ?? [] }

        /// Returns the first value of a field of the creation.
        package func value(of name: String) -> String? { creation.value(of: name) }
    }

    /// The recorded state of a ``ResumableServer``.
    package struct State: Sendable {
        /// The requests in the order of their heads.
        package internal(set) var requests: [Request] = []
        /// The uploads in the order of their creation, including deleted ones.
        package internal(set) var uploads: [Upload] = []
        /// The representations handed to the application, in order.
        package internal(set) var applicationRuns: [Run] = []
        /// The number of requests that have not ended.
        package internal(set) var inFlight = 0

        var counts: [Kind: Int] = [:]
        var rules: [Rule] = []
        var transfers: [Int: Transfer] = [:]
        var buffers: [Int: Content] = [:]

        /// Returns an upload.
        package func upload(_ id: String) -> Upload? { index(of: id).map { uploads[$0] } }

        /// Returns the requests of these kinds in order; all if none is given.
        package func requests(_ kinds: Kind...) -> [Request] {
            kinds.isEmpty ? requests : requests.filter { kinds.contains($0.kind) }
        }
    }

    /// The content of a request while it is received.
    struct Transfer: Sendable {
        /// The index of the upload; `nil` for an ordinary upload.
        var upload: Int?
        /// The largest offset that may be reached.
        var limit = Int.max
        /// How many bytes are stored at most; fewer than are read if the request is cut.
        var keeps = Int.max
        /// Whether the content is stored only if it is complete.
        var isStaged = false
        /// Whether the upload does not exist if the request is cut.
        var vanishes = false
        /// The number of bytes read.
        var received = 0
        /// Whether the content goes beyond `limit`.
        var isExceeded = false
        /// The offset in the last interim response.
        var reported = 0
    }
}
