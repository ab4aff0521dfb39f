import TestSupport
import Testing
import WaybillCore

@testable import Waybill

/// Parallel parts of one upload, which only tus has.
extension ResumeCases {
    /// A body of 900,000 bytes in three parts of three appends each.
    private static func parts(_ name: String, _ change: (inout ResumeCase) -> Void) -> ResumeCase {
        row(name) { row in
            row.dialects = [.tus]
            row.length = 900_000
            row.options = useParts
            change(&row)
        }
    }

    @Sendable private static func useParts(_ options: inout UploadOptions) {
        options.resume?.parallelParts = 3
        options.resume?.minimumLength = .bytes(50_000)
    }

    private static func received(_ state: ResumableServer.State) -> Int {
        state.requests.reduce(0) { $0 + $1.bodyBytes }
    }

    static let parts = partsOfBody + failingParts + concatenations

    private static let partsOfBody = [
        parts("parts are joined in order, with the metadata of the upload") { row in
            row.options = { options in
                useParts(&options)
                options.resume?.metadata = ["filename": "film.mp4"]
            }
            row.check = { state, _ in
                let creations = state.requests(.create)
                #expect(creations.map { $0.value(of: "Upload-Concat") } == ["partial", "partial", "partial"])
                #expect(creations.map(\.claimedLength) == [300_000, 300_000, 300_000])
                #expect(creations.allSatisfy { $0.value(of: "Upload-Metadata") == nil })
                let last = state.requests(.concatenate)
                #expect(last.map { $0.value(of: "Upload-Metadata") } == ["filename ZmlsbS5tcDQ="])
                #expect(last.first?.claimedLength == nil)
                #expect(received(state) == 900_000)
                #expect(state.requests(.offset).isEmpty)
            }
        },
        parts("parts may differ by one byte") { row in
            row.length = 900_001
            row.check = { state, _ in
                #expect(Set(state.requests(.create).map(\.claimedLength)) == [300_000, 300_001])
            }
        },
        parts("parts are sent with their creation, if the server supports it") { row in
            row.configure = { $0.tusExtensions.append("creation-with-upload") }
            row.check = { state, _ in #expect(state.requests(.create).map(\.bodyBytes) == [100_000, 100_000, 100_000]) }
        },
        parts("a server that stores a part with its creation gets no append") { row in
            row.length = 300_000
            row.configure = { $0.tusExtensions.append("creation-with-upload") }
            row.check = { state, _ in #expect(state.requests(.append, .finish).isEmpty) }
        },
        parts("a server without concatenation gets the body in order") { row in
            row.configure = { $0.tusExtensions.removeAll { $0 == "concatenation" } }
            row.check = { state, _ in
                #expect(state.requests.allSatisfy { $0.value(of: "Upload-Concat") == nil })
                #expect(state.requests(.append, .finish).map(\.claimedOffset) == (0..<9).map { $0 * 100_000 })
            }
        },
        parts("a server whose OPTIONS fail gets the body in order") { row in
            row.prepare = { $0.script(.on(.options, .every, .respond(ScriptedResponse(405)))) }
            row.check = { state, _ in #expect(state.uploads.count == 1) }
        },
        parts("a short body has fewer parts") { row in
            row.length = 149_999
            row.check = { state, _ in #expect(state.requests(.create).map(\.claimedLength).count == 2) }
        },
        parts("a body that is too short for two parts is sent in order") { row in
            row.length = 99_999
            row.check = { state, _ in #expect(state.uploads.map(\.part) == [.whole]) }
        },
        parts("the automatic protocol uses parts, too") { row in
            row.method = .automatic
            row.dialects = [.tus, [.tus, .draft8]]
            row.check = { state, _ in #expect(state.requests(.concatenate).count == 1) }
        },
        parts("the draft has no parts") { row in
            row.dialects = ResumeCase.drafts
            row.check = { state, _ in #expect(state.uploads.count == 1) }
        },
        parts("a body longer than the limit of OPTIONS fails, even if each part is shorter") { row in
            row.configure = { $0.limits.maxSize = 899_999 }
            row.expected = .failed(.uploadTooLarge, .notSent)
        },
        parts("at most sixteen parts are sent") { row in
            row.length = 1_000_000
            row.options = { options in
                useParts(&options)
                options.resume?.parallelParts = .max
            }
            row.check = { state, _ in #expect(state.requests(.create).count == 16) }
        },
    ]

    private static let failingParts = [
        parts("a cut part continues where the server stored it, and the others lose nothing") { row in
            row.prepare = { server in
                server.script(.on(.append, 2, .cut(afterBytes: 60_000, keeping: .first(40_000), closing: .reset)))
            }
            row.check = { state, _ in
                #expect(state.uploads.count == 4)
                #expect(received(state) == 920_000)
            }
        },
        parts("only a part that is gone is sent again") { row in
            row.prepare = { server in
                server.script(.on(.append, 2, .cut(afterBytes: 60_000, keeping: .all, closing: .reset)))
                server.once({ $0.requests(.append).count > 1 && $0.requests(.append)[1].isOver }) {
                    server.forget("1")
                }
            }
            row.check = { state, _ in
                #expect(state.requests(.create).count == 4)
                #expect(received(state) <= 1_200_000)
            }
        },
        parts("a part whose last response is lost, and which is gone, is sent again") { row in
            row.prepare = { server in
                server.script(.on(.finish, 1, .loseResponse(.reset)))
                server.once({ $0.requests(.finish).contains { $0.isOver } }) { server.forget("1") }
            }
            row.check = { state, _ in #expect(state.requests(.create).count == 4) }
        },
        parts("a part whose creation is lost is created again") { row in
            row.prepare = { $0.script(.on(.create, 2, .loseResponse(.reset))) }
            row.check = { state, _ in
                #expect(state.requests(.create).count == 4)
                #expect(received(state) == 900_000)
            }
        },
        parts("a part that fails with 503 is retried") { row in
            row.prepare = {
                $0.script(.on(.append, 3, .respond(ScriptedResponse(503, headers: [("Retry-After", "0")]))))
            }
            row.check = { state, _ in #expect(received(state) <= 1_000_000) }
        },
        parts("a rejected part cancels the others") { row in
            row.prepare = { server in
                server.script(.on(.append, 1, .hold), .on(.append, 2, .respond(ScriptedResponse(403))))
            }
            row.expected = .failed(.rejected, .rejected)
            row.check = { state, result in
                guard case .failure(let error) = result else { return }
                #expect(error.response?.status.code == 403)
                #expect(state.requests(.concatenate).isEmpty)
            }
        },
        parts("a rejected creation of a part is the outcome") { row in
            row.prepare = { $0.script(.on(.create, 3, .respond(ScriptedResponse(403)))) }
            row.expected = .failed(.rejected, .rejected)
        },
        parts("a server that lists concatenation and rejects it is an error") { row in
            row.prepare = { $0.script(.on(.create, .every, .respond(ScriptedResponse(400)))) }
            row.expected = .failed(.resumptionUnsupported, .rejected)
        },
        parts("without retries a lost part is incomplete") { row in
            row.prepare = { $0.script(.on(.append, 2, .cut(afterBytes: 0, keeping: .all, closing: .reset))) }
            row.options = { options in
                useParts(&options)
                options.retry = .none
            }
            row.expected = .failed(.connectionLost, .incomplete)
        },
        parts("a part whose confirmed bytes are lost is an error") { row in
            row.prepare = { server in
                server.script(.on(.finish, 1, .cut(afterBytes: 0, keeping: .none, closing: .reset)))
                server.once({ $0.requests(.finish).contains { $0.isOver } }) {
                    if let part = server.state.requests(.finish)[0].upload { server.loseBytes(of: part, to: 10) }
                }
            }
            row.expected = .failed(.resumptionFailed, .incomplete)
            row.removals = 1
        },
    ]

    private static let concatenations = [
        parts("a server may discard the parts after their concatenation") { $0.configure = { $0.keepsParts = false } },
        parts("a part that is gone before the concatenation is sent again") { row in
            row.prepare = { server in
                server.once({ $0.requests(.concatenate).count == 1 }) { server.forget("2") }
            }
            row.check = { state, _ in
                #expect(state.requests(.concatenate).compactMap(\.status) == [400, 201])
                #expect(state.requests(.create).count == 4)
                #expect(received(state) == 1_200_000)
            }
        },
        parts("a concatenation is not repeated after its response is lost") { row in
            row.prepare = { $0.script(.on(.concatenate, .every, .loseResponse(.reset))) }
            row.expected = .failed(.connectionLost, .unknown, runs: 1)
            row.check = { state, _ in #expect(state.requests(.concatenate).count == 1) }
        },
        parts("a concatenation that fails with 500 is not repeated") { row in
            row.prepare = { $0.script(.on(.concatenate, .every, .respond(ScriptedResponse(500)))) }
            row.expected = .failed(.rejected, .unknown)
            row.check = { state, _ in #expect(state.requests(.concatenate).count == 1) }
        },
        parts("a concatenation that fails with 503 is repeated, and no part is sent again") { row in
            row.prepare = {
                $0.script(.on(.concatenate, 1, .respond(ScriptedResponse(503, headers: [("Retry-After", "0")]))))
            }
            row.check = { state, _ in
                #expect(state.requests(.offset).count == 3)
                #expect(received(state) == 900_000)
            }
        },
        parts("a rejected concatenation is the outcome") { row in
            row.prepare = { $0.script(.on(.concatenate, .every, .respond(ScriptedResponse(403)))) }
            row.expected = .failed(.rejected, .rejected)
        },
        parts("a concatenation that stays rejected is tried twice") { row in
            row.prepare = { $0.script(.on(.concatenate, .every, .respond(ScriptedResponse(400)))) }
            row.expected = .failed(.rejected, .rejected)
            row.check = { state, _ in #expect(state.requests(.concatenate).count == 2) }
        },
        parts("a concatenation without a URL stays unknown") { row in
            row.prepare = { $0.script(.on(.concatenate, .every, .changeFields([("Location", nil)]))) }
            row.expected = .failed(.resumptionFailed, .unknown, runs: 1)
        },
    ]
}
