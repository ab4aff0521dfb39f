extension ResumableServer {
    /// The kind of a request, determined from its head.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// OPTIONS.
        case options
        /// The creation of an upload, with or without content.
        case create
        /// The concatenation of partial uploads (tus).
        case concatenate
        /// The retrieval of an offset.
        case offset
        /// An append that does not complete the upload.
        case append
        /// An append that says that it is the last one (draft), or whose `Content-Length` reaches the length (tus).
        case finish
        /// The termination of an upload.
        case delete
        /// A request that uses none of the supported protocols.
        case ordinary
    }

    /// The requests of a kind to which a rule applies. They are numbered from 1 since the start of the server.
    package enum Occurrence: Sendable, Hashable, ExpressibleByIntegerLiteral {
        /// One request.
        case number(Int)
        /// A request and all later ones.
        case from(Int)
        /// All requests.
        case every

        package init(integerLiteral value: Int) { self = .number(value) }

        func contains(_ number: Int) -> Bool {
            switch self {
            case .number(let one): one == number
            case .from(let first): number >= first
            case .every: true
            }
        }
    }

    /// A fault with the requests that it applies to. All matching rules apply.
    ///
    /// ```swift
    /// server.script(.on(.append, 2, .cut(afterBytes: 1_000)), .on(.finish, 1, .loseResponse(.reset)))
    /// ```
    package struct Rule: Sendable {
        let kind: Kind
        let occurrence: Occurrence
        let fault: Fault

        /// Creates a rule for a kind of request.
        package static func on(_ kind: Kind, _ occurrence: Occurrence, _ fault: Fault) -> Rule {
            Rule(kind: kind, occurrence: occurrence, fault: fault)
        }
    }

    /// The bytes of a cut request that are stored.
    package enum Keeping: Sendable, Hashable {
        /// All bytes that were read.
        case all
        /// None of them.
        case none
        /// The given number at most.
        case first(Int)

        func count(of read: Int) -> Int {
            switch self {
            case .all: read
            case .none: 0
            case .first(let count): min(read, count)
            }
        }
    }

    /// The position of scripted interim responses.
    package enum InterimPosition: Sendable, Hashable {
        /// Before the first byte of content is read, and before `100 Continue`.
        case beforeBody
        /// After the content, before the request is performed.
        case afterBody
    }

    /// The position of a gate.
    package enum GatePosition: Sendable, Hashable {
        /// After the content was read, before the request is performed. A later request for the same upload takes
        /// precedence: this one is then not performed.
        case beforePerforming
        /// After the request was performed, before the response is sent.
        case afterPerforming
    }

    /// A fault as a value.
    package enum Fault: Sendable {
        /// Reads the content, unless the client expects 100-continue, and responds without performing the request.
        case respond(ScriptedResponse)
        /// Reads the given number of content bytes and responds without performing the request. The rest stays unread.
        /// The connection is then closed, or stays open if `closing` is `nil`.
        case respondEarly(ScriptedResponse, afterBytes: Int = 0, closing: Behaviour.Closing? = .finish)
        /// Performs the request, but sends this response.
        case perform(thenRespond: ScriptedResponse)
        /// Reads exactly the given number of content bytes and closes the connection. The request counts as interrupted,
        /// even if it has no more bytes.
        case cut(afterBytes: Int, keeping: Keeping = .all, closing: Behaviour.Closing = .finish)
        /// Performs the request and closes the connection without a response.
        case loseResponse(Behaviour.Closing = .finish)
        /// Performs the request, sends the first half of the response head and closes the connection.
        case truncateHead
        /// Sends these responses, which should be interim ones, in addition to those of the protocol.
        case interim([ScriptedResponse], InterimPosition = .beforeBody)
        /// Performs the request and replaces fields of the response, or removes them (`nil`).
        case changeFields([(name: String, value: String?)])
        /// Waits until the test opens the gate.
        case gate(Gate, GatePosition = .afterPerforming)
        /// Reads the content and stores its bytes, but neither performs the request otherwise nor responds. The
        /// connection stays open.
        case hold
        /// Forgets the upload before the request is handled, which then fails with this status, `404` or `410`.
        case forget(status: Int = 404)
    }

    /// All faults that apply to one request.
    struct Plan: Sendable {
        struct Cut: Sendable {
            let bytes: Int
            let keeping: Keeping
            let closing: Behaviour.Closing
        }

        struct Early: Sendable {
            let response: ScriptedResponse
            let bytes: Int
            let closing: Behaviour.Closing?
        }

        enum End: Sendable {
            case respond
            case truncateHead
            case close(Behaviour.Closing)
        }

        var replacement: ScriptedResponse?
        var early: Early?
        var finalResponse: ScriptedResponse?
        var cut: Cut?
        var end = End.respond
        var interimBefore: [ScriptedResponse] = []
        var interimAfter: [ScriptedResponse] = []
        var changes: [(name: String, value: String?)] = []
        var gatesBefore: [Gate] = []
        var gatesAfter: [Gate] = []
        var holds = false
        var forgetStatus: Int?

        init(_ faults: [Fault]) {
            for fault in faults { add(fault) }
        }

        private mutating func add(_ fault: Fault) {
            switch fault {
            case .respond(let response): replacement = response
            case .respondEarly(let response, let bytes, let closing):
                early = Early(response: response, bytes: bytes, closing: closing)
            case .perform(let response): finalResponse = response
            case .cut(let bytes, let keeping, let closing):
                cut = Cut(bytes: bytes, keeping: keeping, closing: closing)
            case .loseResponse(let closing): end = .close(closing)
            case .truncateHead: end = .truncateHead
            case .interim(let responses, .beforeBody): interimBefore += responses
            case .interim(let responses, .afterBody): interimAfter += responses
            case .changeFields(let fields): changes += fields
            case .gate(let gate, .beforePerforming): gatesBefore.append(gate)
            case .gate(let gate, .afterPerforming): gatesAfter.append(gate)
            case .hold: holds = true
            case .forget(let status): forgetStatus = status
            }
        }
    }
}
