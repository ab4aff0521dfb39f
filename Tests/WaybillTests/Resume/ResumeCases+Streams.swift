import HTTPTypes
import TestSupport
import Testing
import WaybillCore

@testable import Waybill

extension ResumeCases {
    // MARK: - Streams of unknown length

    static let streams = [
        stream("a stream of unknown length is sent in appends, and its end is found before the last") { row in
            row.check = { state, _ in
                #expect(state.requests(.append, .finish).map(\.claimedOffset) == [0, 100_000, 200_000])
                #expect(state.requests(.create).map(\.claimedLength) == [nil])
            }
        },
        stream("tus servers receive the length with the last append") { row in
            row.dialects = [.tus]
            row.check = { state, _ in
                #expect(state.requests(.create).map { $0.value(of: "Upload-Defer-Length") } == ["1"])
                #expect(state.requests(.append, .finish).map(\.claimedLength) == [nil, nil, 300_000])
            }
        },
        stream("the last append of a stream is not empty") { row in
            row.length = 200_000
            row.check = { state, _ in
                #expect(state.requests(.append, .finish).map(\.bodyBytes) == [100_000, 100_000])
            }
        },
        stream("one byte more is an append of its own") { row in
            row.length = 200_001
            row.check = { state, _ in
                #expect(state.requests(.append, .finish).map(\.bodyBytes) == [100_000, 100_000, 1])
            }
        },
        stream("an empty stream is complete") { $0.length = 0 },
        stream("an interrupted stream continues from its copy") { row in
            row.prepare = {
                $0.script(.on(.append, 2, .cut(afterBytes: 60_000, keeping: .first(20_000), closing: .reset)))
            }
            row.check = { state, _ in #expect(state.requests(.append)[2].claimedOffset == 120_000) }
        },
        stream("a stream whose last response was lost is not sent again") { row in
            row.dialects = [.draft8, .tus]
            row.prepare = { $0.script(.on(.finish, 1, .loseResponse(.reset))) }
        },
        stream("a stream whose upload is gone is created anew, with its length if that is known") { row in
            row.prepare = { server in
                server.script(.on(.finish, 1, .respond(ScriptedResponse(503))))
                server.once({ $0.requests(.finish).contains { $0.isOver } }) { server.forgetUploads() }
            }
            row.check = { state, _ in #expect(state.requests(.create).map(\.claimedLength) == [nil, 300_000]) }
        },
        stream("a stream beyond the server's limit ends before more of it is sent, and the upload is removed") { row in
            row.configure = { $0.limits.maxSize = 150_000 }
            row.expected = .failed(.uploadTooLarge, .incomplete)
            row.removals = 1
            row.check = { state, _ in #expect(state.requests(.append).count == 1) }
        },
        stream("a tus server without deferred lengths gets no upload") { row in
            row.dialects = [.tus]
            row.configure = { $0.tusExtensions.removeAll { $0 == "creation-defer-length" } }
            row.expected = .failed(.resumptionUnsupported, .notSent)
            row.check = { state, _ in #expect(state.requests(.create).isEmpty) }
        },
        stream("a tus server without deferred lengths gets one ordinary request, if allowed") { row in
            row.dialects = [.tus]
            row.method = .automatic
            row.configure = { $0.tusExtensions.removeAll { $0 == "creation-defer-length" } }
            row.prepare = { $0.script(.on(.ordinary, .every, .respond(ScriptedResponse(415)))) }
            row.expected = .failed(.rejected, .rejected)
            row.check = { state, _ in
                #expect(state.requests(.create, .append).isEmpty)
                #expect(state.requests(.ordinary).map { $0.value(of: "Transfer-Encoding") } == ["chunked"])
            }
        },
    ]

    static func stream(_ name: String, _ change: @escaping (inout ResumeCase) -> Void) -> ResumeCase {
        row(name) { row in
            row.isStream = true
            change(&row)
        }
    }
}
