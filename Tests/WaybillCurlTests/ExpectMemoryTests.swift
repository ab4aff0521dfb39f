import Testing

@testable import WaybillCurl

@Suite struct ExpectMemoryTests {
    @Test func `unknown servers and servers that answered 100-continue are asked`() {
        var memory = ExpectContinueCache()
        #expect(memory.mayExpectContinue("http://a:80"))
        memory.learn(.answered, of: "http://a:80")
        #expect(memory.mayExpectContinue("http://a:80"))
    }

    @Test(arguments: [ExpectContinueCache.Experience.ignored, .refused])
    func `a server without 100-continue is not asked again until it answers`(experience: ExpectContinueCache.Experience)
    {
        var memory = ExpectContinueCache()
        memory.learn(experience, of: "http://a:80")
        #expect(!memory.mayExpectContinue("http://a:80"))
        #expect(memory.mayExpectContinue("http://a:81"))
        memory.learn(.answered, of: "http://a:80")
        #expect(memory.mayExpectContinue("http://a:80"))
    }

    @Test func `the memory is bounded and evicts the oldest entry`() {
        var memory = ExpectContinueCache()
        for index in 0...ExpectContinueCache.capacity { memory.learn(.ignored, of: "http://\(index):80") }
        #expect(memory.mayExpectContinue("http://0:80"))
        #expect(!memory.mayExpectContinue("http://1:80"))
        #expect(!memory.mayExpectContinue("http://\(ExpectContinueCache.capacity):80"))
    }
}
