import Testing

@testable import WaybillCurl

@Suite struct ExpectMemoryTests {
    @Test func `a stranger is asked, and so is a server that has answered`() {
        var memory = ExpectMemory()
        #expect(memory.isWorthAsking("http://a:80"))
        memory.learn(.answered, of: "http://a:80")
        #expect(memory.isWorthAsking("http://a:80"))
    }

    @Test(arguments: [ExpectMemory.Experience.ignored, .refused])
    func `a server that did not answer is not asked again, until it does`(experience: ExpectMemory.Experience) {
        var memory = ExpectMemory()
        memory.learn(experience, of: "http://a:80")
        #expect(!memory.isWorthAsking("http://a:80"))
        #expect(memory.isWorthAsking("http://a:81"))
        memory.learn(.answered, of: "http://a:80")
        #expect(memory.isWorthAsking("http://a:80"))
    }

    @Test func `the memory is bounded and forgets the oldest`() {
        var memory = ExpectMemory()
        for index in 0...ExpectMemory.capacity { memory.learn(.ignored, of: "http://\(index):80") }
        #expect(memory.isWorthAsking("http://0:80"))
        #expect(!memory.isWorthAsking("http://1:80"))
        #expect(!memory.isWorthAsking("http://\(ExpectMemory.capacity):80"))
    }
}
