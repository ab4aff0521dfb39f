import TestSupport
import Testing
import WaybillCore

@testable import Waybill

extension ResumeCases {
    // MARK: - Redirects, positions of a cut, and early responses

    static let edges =
        [
            row("a creation is repeated at the URL of a 307") { row in
                row.prepare = { server in
                    let other = ScriptedResponse(307, headers: [("Location", "/other")])
                    server.script(.on(.create, 1, .respond(other)))
                }
                row.check = { state, _ in #expect(state.requests(.create).map(\.path) == ["/files", "/other"]) }
            },
            row("a creation is not repeated as another method at the URL of a 303") { row in
                row.prepare = { server in
                    let other = ScriptedResponse(303, headers: [("Location", "/other")])
                    server.script(.on(.create, .every, .respond(other)))
                }
                row.options = { $0.redirects.follows = false }
                row.expected = .failed(.rejected, .rejected)
                row.check = { state, _ in #expect(state.requests(.create).count == 1) }
            },
            row("an append follows a 308 of the upload's URL") { row in
                row.prepare = { server in
                    let other = ScriptedResponse(308, headers: [("Location", "/uploads/1?moved")])
                    server.script(.on(.append, 2, .respond(other)))
                }
            },
            row("two interim responses with one URL are one upload") { row in
                row.dialects = [.draft8]
                row.prepare = { server in
                    let interim = ScriptedResponse(
                        104, headers: [("Upload-Draft-Interop-Version", "8"), ("Location", "/uploads/1")])
                    server.script(.on(.create, 1, .interim([interim, interim], .afterBody)))
                }
            },
            row("a rejection before the whole body was sent is the application's") { row in
                row.dialects = ResumeCase.drafts
                row.prepare = { server in
                    let early = ScriptedResponse(422, headers: [("Upload-Complete", "?1")], text: "no")
                    server.script(.on(.finish, 1, .respondEarly(early, afterBytes: 10)))
                }
                row.expected = .failed(.rejected, .rejected)
                row.check = { _, result in
                    guard case .failure(let error) = result else { return }
                    #expect(error.response?.text == "no")
                }
            },
            row("a removal that fails does not change the result") { row in
                row.prepare = { server in
                    server.script(
                        .on(.append, 1, .loseResponse(.reset)),
                        .on(.offset, .every, .changeFields([("Upload-Offset", "300001"), ("Upload-Complete", "?0")])),
                        .on(.delete, .every, .respond(ScriptedResponse(500))))
                }
                row.removals = 1
                row.expected = .failed(.resumptionFailed, .incomplete)
            },
        ] + cuts

    /// A body of 64 bytes whose only append is cut behind each of its bytes.
    private static let cuts = (0...64).flatMap { position in
        [Behaviour.Closing.reset, .finish].map { closing in
            row("a cut behind byte \(position) of 64 by \(closing)") { row in
                row.length = 64
                row.prepare = { $0.script(.on(.finish, 1, .cut(afterBytes: position, closing: closing))) }
                row.check = { state, _ in
                    #expect(state.requests(.create).count == 1)
                    let (first, last) = (state.requests(.finish).first, state.requests(.finish).last)
                    #expect(first?.bodyBytes == position)
                    // A tus server that has all bytes needs no further append.
                    let isStored = position == 64 && first?.dialect == .tus
                    #expect(last?.claimedOffset == (isStored ? 0 : position))
                }
            }
        }
    }
}
