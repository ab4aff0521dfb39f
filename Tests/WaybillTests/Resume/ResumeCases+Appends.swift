import HTTPTypes
import TestSupport
import Testing
import WaybillCore

@testable import Waybill

extension ResumeCases {
    // MARK: - Appends

    static let appends = [
        row("the application's rejection is final") { row in
            row.dialects = ResumeCase.drafts
            row.prepare = { $0.respond(with: ScriptedResponse(422, text: "no")) }
            row.expected = .failed(.rejected, .rejected, runs: 1)
            row.check = { _, result in
                guard case .failure(let error) = result else { return }
                #expect(error.response?.text == "no")
            }
        },
        row("the application's 500 is not resumed") { row in
            row.dialects = [.draft8]
            row.prepare = { $0.respond(with: ScriptedResponse(500)) }
            row.expected = .failed(.rejected, .unknown, runs: 1)
            row.options = { $0.retry = .none }
        },
        row("500 of a proxy is followed by a question") { row in
            row.prepare = { $0.script(.on(.finish, 1, .respond(ScriptedResponse(500)))) }
            row.check = { state, _ in #expect(state.requests(.offset).count >= 1) }
        },
        row("a lost response of the application is fetched again") { row in
            row.dialects = [.draft8, .tus]
            row.prepare = { $0.script(.on(.finish, 1, .loseResponse(.reset))) }
        },
        row("a lost response that can't be fetched leaves a processed upload") { row in
            row.dialects = ResumeCase.drafts
            row.configure = { $0.replaysResponse = false }
            row.prepare = { $0.script(.on(.finish, 1, .loseResponse(.reset))) }
            row.expected = .failed(.responseLost, .processed, runs: 1)
        },
        row("a last append whose bytes arrived without their end is completed") { row in
            row.dialects = ResumeCase.drafts
            row.prepare = { $0.script(.on(.finish, 1, .cut(afterBytes: 100_000, keeping: .all, closing: .reset))) }
        },
        row("a truncated response head counts as lost") { row in
            row.dialects = [.draft8, .tus]
            row.prepare = { $0.script(.on(.finish, 1, .truncateHead)) }
        },
        row("413 halves the appends") { row in
            row.configure = { $0.proxyBodyLimit = 30_000 }
            row.check = { state, _ in
                #expect(state.requests(.append).contains { $0.value(of: "Content-Length") == "25000" })
            }
        },
        row("a 409 of the application is final where the server does not mark it") { row in
            row.dialects = ResumeCase.drafts
            row.configure = { $0.keepsCompleted = false }
            row.prepare = { server in
                let response = ScriptedResponse(409, headers: [("Upload-Offset", "300000")])
                server.script(.on(.finish, .every, .perform(thenRespond: response)))
            }
            row.expected = .failed(.rejected, .rejected, runs: 1)
        },
        row("a 413 of the application is final where the server does not mark it") { row in
            row.dialects = ResumeCase.drafts
            row.configure = { $0.keepsCompleted = false }
            row.prepare = { $0.script(.on(.finish, .every, .perform(thenRespond: ScriptedResponse(413)))) }
            row.expected = .failed(.rejected, .rejected, runs: 1)
        },
        row("a 413 of the application to a short last append is final where the server does not mark it") { row in
            row.dialects = ResumeCase.drafts
            row.length = 200_100
            row.configure = { $0.keepsCompleted = false }
            row.prepare = { $0.script(.on(.finish, .every, .perform(thenRespond: ScriptedResponse(413)))) }
            row.expected = .failed(.rejected, .rejected, runs: 1)
        },
        row("an append that a proxy has lost is halved") { row in
            row.prepare = { $0.script(.on(.append, 1, .respond(ScriptedResponse(504)))) }
            row.check = { state, _ in
                #expect(state.requests(.append).prefix(2).map(\.bodyBytes) == [100_000, 50_000])
            }
        },
        row("413 at the minimum is an error") { row in
            row.configure = { $0.proxyBodyLimit = 10 }
            row.expected = .failed(.resumptionFailed, .incomplete)
        },
        row("the maximum of an append is never exceeded") { row in
            row.dialects = ResumeCase.drafts
            row.configure = { $0.limits.maxAppend = 33_333 }
            row.check = { state, _ in
                #expect(state.requests(.append, .finish).allSatisfy { $0.bodyBytes <= 33_333 })
            }
        },
        row("all appends but the last are multiples") { row in
            row.configure = { settings in
                settings.appendMultiple = 65_536
            }
            row.options = { $0.resume?.appendMultiple = .bytes(65_536) }
        },
        row("a flood of interim responses is bounded") { row in
            row.dialects = ResumeCase.drafts
            row.prepare = { server in
                let interim = ScriptedResponse(
                    104, headers: [("Upload-Draft-Interop-Version", "8"), ("Upload-Offset", "5")])
                server.script(.on(.append, 1, .interim(Array(repeating: interim, count: 10_000), .afterBody)))
            }
        },
        row("460 sends the bytes again") { row in
            row.dialects = [.tus]
            row.prepare = { $0.script(.on(.append, 1, .respond(ScriptedResponse(460)))) }
        },
        row("460 four times is an error") { row in
            row.dialects = [.tus]
            row.prepare = { $0.script(.on(.append, .every, .respond(ScriptedResponse(460)))) }
            row.expected = .failed(.resumptionFailed, .incomplete)
            row.check = { state, _ in #expect(state.requests(.append).count == 4) }
        },
        row("a server that reports more than was sent after an append is an error") { row in
            row.prepare = { server in
                server.script(
                    .on(.append, 1, .changeFields([("Upload-Offset", "150000")])),
                    .on(.offset, .every, .changeFields([("Upload-Offset", "150000")])))
            }
            row.removals = 1
            row.expected = .failed(.resumptionFailed, .incomplete)
        },
    ]

    // MARK: - Life

    static let life = [
        row("retries are counted from the last progress") { row in
            row.length = 1_000_000
            row.prepare = { server in
                for number in 1...6 {
                    server.script(
                        .on(.append, .number(number), .cut(afterBytes: 60_000, keeping: .all, closing: .reset)))
                }
            }
        },
        row("without progress, the retries are used up") { row in
            row.prepare = { $0.script(.on(.append, .every, .cut(afterBytes: 0, keeping: .none, closing: .reset))) }
            row.options = { $0.retry.maxRetries = 2 }
            row.expected = .failed(.connectionLost, .incomplete)
            row.check = { _, result in
                guard case .failure(let error) = result else { return }
                #expect(error.attempts.count == 3)
            }
        },
        row("without retries, a lost response is looked up nevertheless") { row in
            row.dialects = [.draft8, .tus]
            row.options = { $0.retry = .none }
            row.prepare = { $0.script(.on(.finish, 1, .loseResponse(.reset))) }
        },
        row("a server that lost its state gets a new upload") { row in
            row.prepare = { server in
                server.script(.on(.append, 2, .cut(afterBytes: 10, keeping: .all, closing: .reset)))
                server.once({ $0.requests(.append).count == 2 && $0.requests(.append)[1].isOver }) {
                    server.forgetUploads()
                }
            }
        },
    ]
}
