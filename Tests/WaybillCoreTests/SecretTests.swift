import Testing
import WaybillCore

@Suite struct SecretTests {
    @Test func `a secret prints as redacted in every way a value can be printed`() {
        let secret = Secret.secret("hunter2")
        var dumped = ""
        dump([secret], to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), String(describing: [secret]), dumped] {
            #expect(!text.contains("hunter2"))
        }
        #expect("\(secret)" == "<redacted>")
    }
}
