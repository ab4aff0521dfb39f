import Testing

@testable import WaybillCurl

@Suite struct ExpectMemoryTests {
    @Test func `unknown servers and servers that answered 100-continue are asked`() {
        var memory = ExpectMemory()
        #expect(memory.isWorthAsking("http://a:80"))
        memory.learn(.answered, of: "http://a:80")
        #expect(memory.isWorthAsking("http://a:80"))
    }

    @Test(arguments: [ExpectMemory.Experience.ignored, .refused])
    func `a server without 100-continue is not asked again until it answers`(experience: ExpectMemory.Experience) {
        var memory = ExpectMemory()
        memory.learn(experience, of: "http://a:80")
        #expect(!memory.isWorthAsking("http://a:80"))
        #expect(memory.isWorthAsking("http://a:81"))
        memory.learn(.answered, of: "http://a:80")
        #expect(memory.isWorthAsking("http://a:80"))
    }

    @Test func `the memory is bounded and evicts the oldest entry`() {
        var memory = ExpectMemory()
        for index in 0...ExpectMemory.capacity { memory.learn(.ignored, of: "http://\(index):80") }
        #expect(memory.isWorthAsking("http://0:80"))
        #expect(!memory.isWorthAsking("http://1:80"))
        #expect(!memory.isWorthAsking("http://\(ExpectMemory.capacity):80"))
    }
}
