import Testing
import WaybillCore

@Suite struct SecretTests {
    @Test func `a secret is redacted in every printed form`() {
        let secret = Secret.secret("hunter2")
        var dumped = ""
        dump([secret], to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), String(describing: [secret]), dumped] {
            #expect(!text.contains("hunter2"))
        }
        #expect("\(secret)" == "<redacted>")
    }
}
