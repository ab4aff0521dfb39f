import CWaybillCurl
import Testing
import WaybillCore

@testable import WaybillCurl

@Suite struct CurlFailureTests {
    @Test func `each libcurl error code has a message`() {
        for raw in UInt32(1)...99 {
            let (_, message) = CurlFailure.codeAndMessage(
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
    func `common libcurl errors have their own codes`(code: CURLcode, name: TransferError.Code) {
        #expect(CurlFailure.codeAndMessage(of: code, isConnected: false, sawResponseHead: false).code == name)
    }
}
