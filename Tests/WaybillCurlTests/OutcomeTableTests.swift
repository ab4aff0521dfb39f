import CWaybillCurl
import Testing
import WaybillCore

@testable import WaybillCurl

@Suite struct OutcomeTableTests {
    @Test(arguments: [
        // request acknowledged, body complete, outcome
        (false, false, UploadOutcome.notSent),
        (false, true, .unknown),
        (true, false, .incomplete(acknowledged: 7)),
        (true, true, .unknown),
    ])
    func `what was seen decides what is believed`(acknowledged: Bool, complete: Bool, outcome: UploadOutcome) {
        let evidence = TransferEvidence(
            announced: 10, sent: complete ? 10 : 8, acknowledged: 7, requestAcknowledged: acknowledged,
            isBodyComplete: complete)
        #expect(OutcomeTable.outcome(of: evidence) == outcome)
    }

    @Test func `every code of libcurl's has a meaning and a remedy`() {
        for raw in UInt32(1)...99 {
            let (_, message) = OutcomeTable.meaning(
                of: CURLcode(rawValue: raw), isConnected: false, sawResponseHead: false)
            #expect(message.hasSuffix(".") || message.hasSuffix("?"))
        }
    }

    @Test(arguments: [
        (CURLE_COULDNT_RESOLVE_HOST, TransferError.Code.hostNotFound), (CURLE_COULDNT_CONNECT, .cannotConnect),
        (CURLE_PEER_FAILED_VERIFICATION, .certificateNotTrusted), (CURLE_SSL_CONNECT_ERROR, .tlsFailed),
        (CURLE_GOT_NOTHING, .connectionLost), (CURLE_PARTIAL_FILE, .responseIncomplete),
        (CURLE_WEIRD_SERVER_REPLY, .malformedResponse), (CURLE_SEND_FAIL_REWIND, .resendRefused),
    ])
    func `the codes that users meet have names of their own`(code: CURLcode, name: TransferError.Code) {
        #expect(OutcomeTable.meaning(of: code, isConnected: false, sawResponseHead: false).code == name)
    }
}
