import TestSupport
import Testing
import WaybillCore

@testable import Waybill

extension ResumeCases {
    // MARK: - Responses that the application or the protocol may have sent

    static let ambiguous =
        [400, 404, 410, 423].map { status in
            row("an unmarked \(status) to the last append is the application's if the upload is gone") { row in
                row.dialects = [.draft6]
                row.configure = { $0.keepsCompleted = false }
                row.prepare = { $0.script(.on(.finish, .every, .perform(thenRespond: ScriptedResponse(status)))) }
                row.options = { $0.resume?.checksums = [.sha256ForTests] }
                row.expected = .failed(.rejected, .rejected, runs: 1)
            }
        } + [
            row("a 408 to the last append leaves the result unknown") { row in
                row.dialects = ResumeCase.drafts
                row.configure = { $0.keepsCompleted = false }
                row.prepare = { $0.script(.on(.finish, .every, .perform(thenRespond: ScriptedResponse(408)))) }
                row.expected = .failed(.resumptionFailed, .unknown, runs: 1)
            },
            row("a 408 to a creation with the whole body leaves the result unknown") { row in
                row.dialects = [.tus]
                row.length = 50_000
                row.configure = { $0.tusExtensions.append("creation-with-upload") }
                row.prepare = { $0.script(.on(.create, .every, .perform(thenRespond: ScriptedResponse(408)))) }
                row.expected = .failed(.rejected, .unknown, runs: 1)
            },
            row("an ordinary request of unknown result is not forgotten by a later attempt") { row in
                row.dialects = [.draft8]
                row.method = .automatic
                row.options = { $0.resume?.minimumLength = .bytes(1) }
                row.configure = { $0.sendsInterim = false }
                row.prepare = { server in
                    server.script(
                        .on(.options, 1, .loseResponse(.reset)), .on(.ordinary, 1, .loseResponse(.reset)),
                        .on(.create, .every, .loseResponse(.reset)))
                }
                row.expected = .failed(.connectionLost, .unknown, runs: 1)
            },
            row("bytes that a server loses again and again are no progress") { row in
                row.dialects = [.tus]
                row.length = 400_000
                row.prepare = { server in
                    // Each second attempt comes further than the one before, and none further than the first.
                    let cuts = [3, 5, 8, 10, 13, 15, 18, 20, 23, 25]
                    for number in cuts {
                        server.script(
                            .on(.append, .number(number), .cut(afterBytes: 0, keeping: .none, closing: .reset)))
                    }
                    server.script(.on(.offset, .every, .forget()))
                }
                row.options = { $0.retry.maxRetries = 2 }
                row.expected = .failed(.connectionLost, .incomplete)
            },
        ]
}
