import HTTPTypes
import TestSupport
import Testing
import WaybillCore

@testable import Waybill

/// The conformance list.
enum ResumeCases {
    static var table: [ResumeCase] {
        discovery + creation + offsets + appends + streams + checksums + edges + ambiguous + life + parts
    }

    static func row(_ name: String, _ change: (inout ResumeCase) -> Void = { _ in }) -> ResumeCase {
        var row = ResumeCase(name)
        change(&row)
        return row
    }

    // MARK: - Discovery and versions

    private static let discovery = [
        row("a body is sent in appends, each at the offset of the server") { row in
            row.check = { state, _ in
                #expect(state.requests(.append, .finish).map(\.claimedOffset) == [0, 100_000, 200_000])
                #expect(state.requests(.append, .finish).allSatisfy { $0.isBodyComplete })
            }
        },
        row("OPTIONS that fails does not prevent the creation") { row in
            row.dialects = [.draft8, .tus]
            row.prepare = { $0.script(.on(.options, .every, .respond(ScriptedResponse(405)))) }
        },
        row("OPTIONS whose connection is lost does not prevent the creation") { row in
            row.dialects = [.draft8, .tus]
            row.prepare = { $0.script(.on(.options, .every, .loseResponse(.reset))) }
        },
        row("a server with another version of tus is an error that names both versions") { row in
            row.dialects = [.tus]
            row.configure = { $0.tusVersions = ["0.2.2"] }
            row.expected = .failed(.resumptionUnsupported, .notSent)
            row.check = { _, result in
                #expect("\(result)".contains("0.2.2") && "\(result)".contains("1.0.0"))
            }
        },
        row("a response without Tus-Resumable is not that of a tus server") { row in
            row.dialects = [.tus]
            row.prepare = { $0.script(.on(.create, .every, .changeFields([("Tus-Resumable", nil)]))) }
            row.expected = .failed(.resumptionUnsupported, .rejected)
        },
        row("a body longer than the limit of OPTIONS fails before it is created") { row in
            row.configure = { $0.limits.maxSize = 299_999 }
            row.expected = .failed(.uploadTooLarge, .notSent)
            row.check = { state, _ in #expect(state.uploads.isEmpty) }
        },
        row("a known limit with an unknown key applies") { row in
            row.dialects = [.draft8]
            row.prepare = {
                $0.script(
                    .on(.options, .every, .changeFields([("Upload-Limit", "new=\"a, b\", max-append-size=40000")])))
            }
            row.configure = { $0.limits.maxAppend = 40_000 }
            row.check = { state, _ in
                #expect(state.requests(.append, .finish).allSatisfy { $0.bodyBytes <= 40_000 })
            }
        },
        row("a limit of a wrong type is ignored with its whole field") { row in
            row.dialects = [.draft8]
            row.prepare = {
                $0.script(.on(.options, .every, .changeFields([("Upload-Limit", "max-size=\"1\", max-append-size=9")])))
            }
            row.check = { state, _ in #expect(state.requests(.append, .finish).first?.bodyBytes == 100_000) }
        },
        row("a body shorter than the minimum is sent as an ordinary request") { row in
            row.dialects = ResumeCase.drafts
            row.configure = { $0.limits.minSize = 300_001 }
            row.check = { state, _ in #expect(state.requests(.ordinary).count == 1) }
        },
        row("an interim response of another version is ignored") { row in
            row.dialects = ResumeCase.drafts
            row.configure = { $0.sendsInterim = false }
            row.prepare = { server in
                let other = ScriptedResponse(
                    104, headers: [("Upload-Draft-Interop-Version", "3"), ("Location", "/elsewhere")])
                let none = ScriptedResponse(104, headers: [("Location", "/elsewhere")])
                server.script(.on(.create, .every, .interim([other, none])))
            }
        },
        row("a server of version 6 gets only version 6") { row in
            row.dialects = [.draft6]
            row.check = { state, _ in #expect(state.requests(.ordinary).isEmpty) }
        },
        row("without OPTIONS, a server that rejects version 8 gets version 6") { row in
            row.dialects = [.draft6]
            row.prepare = { server in
                server.script(
                    .on(.options, .every, .respond(ScriptedResponse(404))),
                    .on(.ordinary, 1, .respond(ScriptedResponse(400))))
            }
            row.check = { state, _ in #expect(state.requests(.ordinary).count == 1) }
        },
        row("a creation that a tus server rejects is the server's rejection") { row in
            row.dialects = [.tus]
            row.prepare = { server in
                let response = ScriptedResponse(400, headers: [("Tus-Resumable", "1.0.0")], text: "no file name")
                server.script(.on(.create, .every, .respond(response)))
            }
            row.expected = .failed(.rejected, .rejected)
            row.check = { _, result in
                guard case .failure(let error) = result else { return }
                #expect(error.response?.text == "no file name")
            }
        },
        row("a server without resumption gets one ordinary request, if allowed") { row in
            row.dialects = [[]]
            row.method = .automatic
            row.options = { $0.resume?.minimumLength = .bytes(1) }
            row.check = { state, _ in #expect(state.requests(.ordinary).map(\.bodyBytes) == [300_000]) }
        },
        row("a server that rejects what it offers gets one ordinary request, if allowed") { row in
            row.dialects = [.draft8]
            row.method = .automatic
            row.options = { $0.resume?.minimumLength = .bytes(1) }
            row.prepare = { $0.script(.on(.create, .every, .respond(ScriptedResponse(400)))) }
            row.check = { state, _ in #expect(state.requests(.ordinary).map(\.bodyBytes) == [300_000]) }
        },
        row("a server without resumption is an error, if a protocol is required") { row in
            row.dialects = [[]]
            row.method = .draft
            row.prepare = { $0.script(.on(.ordinary, .every, .respond(ScriptedResponse(400)))) }
            row.expected = .failed(.resumptionUnsupported, .rejected)
        },
        row("the automatic protocol of bytes is tus where the server offers it") { row in
            row.method = .automatic
            row.options = { $0.resume?.minimumLength = .bytes(1) }
            row.dialects = [.tus, [.tus, .draft8]]
            row.check = { state, _ in #expect(state.uploads.map(\.dialect) == [.tus]) }
        },
        row("the automatic protocol sends short bodies as ordinary requests") { row in
            row.method = .automatic
            row.check = { state, _ in #expect(state.requests.map(\.kind) == [.ordinary]) }
        },
    ]

    // MARK: - Creation

    private static let creation = [
        row("a relative Location is resolved against the URL") { $0.configure = { $0.location = .relative } },
        row("an absolute Location is used") { $0.configure = { $0.location = .absolute } },
        row("a creation without Location is an error") { row in
            row.configure = { $0.sendsInterim = false }
            row.prepare = { $0.script(.on(.create, .every, .changeFields([("Location", nil)]))) }
            row.expected = .failed(.resumptionUnsupported, .rejected)
        },
        row("a creation whose response is lost is repeated, because it has no content") { row in
            row.configure = { $0.sendsInterim = false }
            row.prepare = { $0.script(.on(.create, 1, .loseResponse(.reset))) }
            row.check = { state, _ in #expect(state.uploads.count == 2) }
        },
        row("a creation that stored less than was sent continues from there") { row in
            row.dialects = [.tus]
            row.configure = { $0.tusExtensions.append("creation-with-upload") }
            row.prepare = { $0.script(.on(.create, 1, .cut(afterBytes: 70_000, keeping: .none, closing: .reset))) }
        },
        row("a creation whose content is lost is repeated without content") { row in
            row.dialects = [.tus]
            row.configure = { $0.tusExtensions.append("creation-with-upload") }
            row.prepare = { $0.script(.on(.create, 1, .cut(afterBytes: 1_000, keeping: .none, closing: .reset))) }
            row.check = { state, _ in #expect(state.requests(.create).map(\.bodyBytes) == [1_000, 0]) }
        },
        row("a creation whose content is too large for a proxy is repeated without content") { row in
            row.dialects = [.tus]
            row.configure = { settings in
                settings.tusExtensions.append("creation-with-upload")
                settings.proxyBodyLimit = 40_000
            }
            row.check = { state, _ in
                #expect(state.requests(.create).count == 2)
                #expect(state.requests(.append).contains { $0.bodyBytes == 25_000 })
            }
        },
        row("a lost creation with the whole body is not repeated, because it would create a second file") { row in
            row.dialects = [.tus]
            row.length = 50_000
            row.configure = { $0.tusExtensions.append("creation-with-upload") }
            row.prepare = { $0.script(.on(.create, 1, .loseResponse(.reset))) }
            row.expected = .failed(.connectionLost, .unknown, runs: 1)
        },
        row("a creation whose content a proxy has lost is repeated without content") { row in
            row.dialects = [.tus]
            row.configure = { $0.tusExtensions.append("creation-with-upload") }
            row.prepare = { $0.script(.on(.create, 1, .respond(ScriptedResponse(502)))) }
            row.check = { state, _ in #expect(state.requests(.create).map(\.bodyBytes) == [100_000, 0]) }
        },
        row("an empty body is one request") { row in
            row.length = 0
            row.check = { state, _ in #expect(state.requests(.create, .append, .finish).count == 1) }
        },
        row("a Location that differs from the announced one is an error") { row in
            row.dialects = ResumeCase.drafts
            row.prepare = { $0.script(.on(.create, .every, .changeFields([("Location", "/uploads/other")]))) }
            row.expected = .failed(.resumptionFailed, .incomplete)
            row.removals = 2
            row.check = { state, _ in #expect(state.uploads.allSatisfy { $0.isDeleted }) }
        },
        row("a creation rejected with 413 is the server's rejection") { row in
            row.prepare = { $0.script(.on(.create, .every, .respond(ScriptedResponse(413)))) }
            row.expected = .failed(.rejected, .rejected)
        },
        row("a creation that fails with 503 is retried") { row in
            row.prepare = {
                $0.script(.on(.create, 1, .respond(ScriptedResponse(503, headers: [("Retry-After", "0")]))))
            }
        },
    ]

    // MARK: - Offsets

    private static let offsets = [
        row("a cut append continues where the server stored it") { row in
            row.prepare = { server in
                server.script(
                    .on(.append, 1, .cut(afterBytes: 60_000, keeping: .first(40_000), closing: .reset)))
            }
            row.check = { state, _ in
                #expect(state.requests(.append, .finish).map(\.claimedOffset).contains(40_000))
            }
        },
        row("an append of which nothing survives is repeated in smaller pieces") { row in
            row.prepare = { server in
                server.script(
                    .on(.append, 1, .cut(afterBytes: 90_000, keeping: .none, closing: .reset)),
                    .on(.append, 2, .cut(afterBytes: 45_000, keeping: .none, closing: .reset)))
            }
            row.check = { state, _ in
                #expect(
                    state.requests(.append).map { $0.value(of: "Content-Length") }.prefix(3) == [
                        "100000", "50000", "25000",
                    ])
            }
        },
        row("an offset greater than what was sent is an error") { row in
            row.prepare = { server in
                server.script(.on(.append, 1, .cut(afterBytes: 0, keeping: .none, closing: .reset)))
                let more = Array(SeededGenerator.pattern(300_000)[..<150_000])
                server.once({ $0.requests(.append).contains { $0.isOver } }) { server.gainBytes(of: "1", more) }
            }
            row.removals = 1
            row.expected = .failed(.resumptionFailed, .incomplete)
        },
        row("an empty creation that reports stored bytes is an error") { row in
            row.dialects = [.tus]
            row.prepare = {
                $0.script(
                    .on(.create, 1, .changeFields([("Upload-Offset", "300000")])),
                    .on(.offset, .every, .changeFields([("Upload-Offset", "300000")])))
            }
            row.removals = 1
            row.expected = .failed(.resumptionFailed, .incomplete)
        },
        row("an append that is reported as complete too early is no success") { row in
            row.dialects = [.draft8]
            row.prepare = { $0.script(.on(.append, 1, .changeFields([("Upload-Complete", "?1")]))) }
            row.options = { $0.retry = .none }
            row.expected = .failed(.bodyNotTaken, .unknown)
        },
        row("a server that never completes the upload is an error") { row in
            row.dialects = [.draft8]
            row.prepare = {
                $0.script(
                    .on(.finish, .every, .changeFields([("Upload-Complete", "?0")])),
                    .on(.offset, .every, .changeFields([("Upload-Complete", "?0"), ("Upload-Offset", "300000")])))
            }
            row.expected = .failed(.resumptionFailed, .unknown, runs: 1)
        },
        row("a server that repeats an offset is asked a limited number of times") { row in
            row.prepare = { $0.script(.on(.append, .from(2), .respond(ScriptedResponse(200)))) }
            row.expected = .failed(.resumptionFailed, .incomplete)
            row.check = { state, _ in #expect(state.requests(.append).count < 12) }
        },
        row("a redirect of the upload's URL is not followed for ever") { row in
            row.prepare = { server in
                let next = ScriptedResponse(308, headers: [("Location", "/uploads/1?again")])
                server.script(.on(.append, .every, .respond(next)))
            }
            row.expected = .failed(.resumptionFailed, .incomplete)
            row.check = { state, _ in #expect(state.requests(.append).count <= 6) }
        },
        row("an offset beyond the body is an error, and the upload is removed") { row in
            row.prepare = { $0.script(.on(.offset, .every, .changeFields([("Upload-Offset", "300001")]))) }
            row.prepare = { server in
                server.script(
                    .on(.append, 1, .loseResponse(.reset)),
                    .on(.offset, .every, .changeFields([("Upload-Offset", "300001"), ("Upload-Complete", "?0")])))
            }
            row.expected = .failed(.resumptionFailed, .incomplete)
            row.removals = 1
        },
        row("a response without an offset is followed by a question") { row in
            row.prepare = { $0.script(.on(.append, .every, .changeFields([("Upload-Offset", nil)]))) }
            row.check = { state, _ in #expect(state.requests(.offset).count == 2) }
        },
        row("an offset of a wrong type counts as missing") { row in
            row.prepare = { $0.script(.on(.append, 1, .changeFields([("Upload-Offset", "-5")]))) }
            row.check = { state, _ in #expect(state.requests(.offset).count == 1) }
        },
        row("an offset beyond 63 bits counts as missing") { row in
            row.prepare = { $0.script(.on(.append, 1, .changeFields([("Upload-Offset", "9223372036854775808")]))) }
            row.check = { state, _ in #expect(state.requests(.offset).count == 1) }
        },
        row("a server that lost confirmed bytes is an error") { row in
            row.prepare = { server in
                server.script(.on(.append, 2, .cut(afterBytes: 0, keeping: .none, closing: .reset)))
                server.once({ $0.requests(.append).count == 2 && $0.requests(.append)[1].isOver }) {
                    server.loseBytes(of: "1", to: 10)
                }
            }
            row.removals = 1
            row.expected = .failed(.resumptionFailed, .incomplete)
        },
        row("409 with an offset is followed from there") { row in
            row.prepare = { server in
                let more = Array(SeededGenerator.pattern(300_000)[..<30_000])
                server.once({ $0.requests(.create).contains { $0.isOver } }) { server.gainBytes(of: "1", more) }
            }
            row.check = { state, _ in #expect(state.requests.contains { $0.status == 409 }) }
        },
        row("409 three times at the same offset is an error") { row in
            row.prepare = { $0.script(.on(.append, .every, .respond(ScriptedResponse(409)))) }
            row.expected = .failed(.resumptionFailed, .incomplete)
            row.check = { state, _ in #expect(state.requests(.append).count == 3) }
        },
        row("an upload that is gone is created anew") { row in
            row.prepare = { server in
                server.script(.on(.append, 2, .cut(afterBytes: 10, keeping: .none, closing: .reset)))
                server.once({ $0.requests(.append).count == 2 && $0.requests(.append)[1].isOver }) {
                    server.forgetUploads()
                }
            }
            row.check = { state, _ in #expect(state.uploads.count == 2) }
        },
        row("the server decides when an upload has expired, not the clock of this machine") { row in
            row.configure = { settings in
                settings.limits.maxAge = 0
                settings.uploadExpires = "Thu, 01 Jan 1970 00:00:00 GMT"
            }
            row.prepare = { $0.script(.on(.append, 2, .cut(afterBytes: 10, keeping: .none, closing: .reset))) }
            row.check = { state, _ in #expect(state.uploads.count == 1) }
        },
        row("an upload that has expired is created anew") { row in
            row.prepare = { server in
                server.script(.on(.append, 2, .cut(afterBytes: 10, keeping: .none, closing: .reset)))
                server.once({ $0.requests(.append).count == 2 && $0.requests(.append)[1].isOver }) {
                    server.forget("1", status: 410)
                }
            }
            row.check = { state, _ in
                #expect(state.uploads.count == 2 && state.requests(.offset).map(\.status) == [410])
            }
        },
        row("an upload that is gone after its last bytes were sent stays unknown") { row in
            row.prepare = { server in
                server.script(.on(.finish, 1, .loseResponse(.reset)))
                server.once({ $0.requests(.finish).contains { $0.isOver } }) { server.forgetUploads() }
            }
            row.expected = .failed(.resumptionFailed, .unknown, runs: 1)
        },
        row("a rejected question is the server's rejection") { row in
            row.prepare = { server in
                server.script(
                    .on(.append, 1, .loseResponse(.reset)), .on(.offset, .every, .respond(ScriptedResponse(403))))
            }
            row.expected = .failed(.rejected, .rejected)
        },
        row("a locked upload is asked again") { row in
            row.prepare = { server in
                server.once({ $0.requests(.create).contains { $0.isOver } }) { server.lock("1", forRequests: 2) }
            }
        },
        row("where HEAD is not allowed, another method is used") { row in
            // Version 6 of the draft has no other method.
            row.dialects = [.draft8, .tus]
            row.configure = { $0.barredMethods = ["HEAD"] }
            row.prepare = { $0.script(.on(.append, 1, .loseResponse(.reset))) }
        },
        row("where PATCH is not allowed, tus has another method") { row in
            row.dialects = [.tus]
            row.configure = { $0.barredMethods = ["PATCH", "HEAD"] }
        },
    ]
}
