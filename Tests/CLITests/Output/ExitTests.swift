import Testing
import Waybill
import WaybillStores

@testable import WaybillCLI

@Suite struct ExitTests {
    static let table: [(UploadError.Code, UploadOutcome, Exit)] = [
        (.rejected, .rejected, .rejected), (.responseTooLarge, .rejected, .rejected),
        (.invalidURL, .notSent, .usage), (.invalidRequest, .notSent, .usage), (.emptyFieldName, .notSent, .usage),
        (.fileNotFound, .notSent, .source), (.notARegularFile, .notSent, .source),
        (.fileNotReadable, .notSent, .source),
        (.notAJPEG, .notSent, .source), (.cannotReachLimit, .notSent, .source), (.corrupt, .notSent, .source),
        (.sourceChanged, .incomplete(acknowledged: 5), .sourceChanged),
        (.hostNotFound, .notSent, .transient), (.cannotConnect, .notSent, .transient),
        (.connectTimeout, .notSent, .transient), (.stalled, .incomplete(acknowledged: 1), .transient),
        (.connectionLost, .incomplete(acknowledged: 1), .transient), (.tlsFailed, .notSent, .transient),
        (.connectionLost, .unknown, .unknown), (.responseTimeout, .unknown, .unknown),
        (.responseTooLarge, .unknown, .unknown), (.certificateNotTrusted, .notSent, .fatal),
    ]

    @Test(arguments: table) func `each failure has its exit status`(
        _ code: UploadError.Code, _ outcome: UploadOutcome, _ exit: Exit
    ) {
        #expect(Exit(UploadError(code, "", phase: .failed, outcome: outcome), signal: nil) == exit)
    }

    @Test func `a signal that arrives too late does not change the exit status`() {
        let lost = UploadError(.connectionLost, "", phase: .sending, outcome: .unknown)
        #expect(Exit(lost, signal: 2) == .unknown)
        let cancelled = UploadError(.cancelled, "", phase: .sending, outcome: .unknown)
        #expect(Exit(cancelled, signal: 2) == .interrupted)
        #expect(Exit(cancelled, signal: 15) == .terminated)
    }

    @Test func `the help lists every exit status`() {
        for exit in Exit.allCases { #expect(Exit.table.contains("\(exit.rawValue)  \(exit.meaning)")) }
    }

    @Test func `doctor reports unusable directories and certificates and redacts proxy passwords`() throws {
        #expect(Checks.checkTemporaryDirectory("/nonexistent/folder").verdict == .failed)
        #expect(Checks.certificates(in: "/nonexistent/file").verdict == .failed)
        #expect(Checks.certificates(in: "/etc/hostname").verdict == .failed)
        let proxies = Checks.proxies { ["https_proxy": "http://user:pass@proxy:1", "ALL_PROXY": "u:pass@p:2"][$0] }
        #expect(proxies.count == 2)
        #expect(proxies.allSatisfy { $0.verdict == .note && !$0.finding.contains("pass@") })
    }

    @Test(arguments: [
        ("uploadTokenExpired", Exit.usage), ("uploadTokenDoesNotCover", .usage), ("uploadTokenUnavailable", .usage),
        ("invalidUploadToken", .usage), ("credentialsExpired", .usage), ("presignedExpired", .usage),
        ("invalidPutPolicy", .usage), ("regionUnknown", .usage), ("signingFailed", .usage), ("objectExists", .rejected),
        ("sizeNotAllowed", .rejected), ("credentialsRejected", .rejected), ("credentialsTimedOut", .transient),
        ("recordInUse", .transient), ("uploadGone", .transient), ("bodyNotReplayable", .source),
    ]) func `a store failure that no retry can fix is not transient`(code: String, exit: Exit) {
        #expect(Exit(StoreError(StoreError.Code(code), ""), signal: nil) == exit)
    }
}
