import Testing

@testable import WaybillCurl

@Suite struct ExpectContinueCacheTests {
    @Test func `the expectation is sent to unknown and supporting servers`() {
        var cache = ExpectContinueCache()
        #expect(cache.mayExpectContinue("http://a:80"))
        cache.record(.supported, for: "http://a:80")
        #expect(cache.mayExpectContinue("http://a:80"))
    }

    @Test(arguments: [ExpectContinueCache.Reaction.ignored, .rejected])
    func `a server without support gets no expectation until it supports it`(reaction: ExpectContinueCache.Reaction) {
        var cache = ExpectContinueCache()
        cache.record(reaction, for: "http://a:80")
        #expect(!cache.mayExpectContinue("http://a:80"))
        #expect(cache.mayExpectContinue("http://a:81"))
        cache.record(.supported, for: "http://a:80")
        #expect(cache.mayExpectContinue("http://a:80"))
    }

    @Test func `the cache is bounded and evicts the oldest entry`() {
        var cache = ExpectContinueCache()
        for index in 0...ExpectContinueCache.capacity { cache.record(.ignored, for: "http://\(index):80") }
        #expect(cache.mayExpectContinue("http://0:80"))
        #expect(!cache.mayExpectContinue("http://1:80"))
        #expect(!cache.mayExpectContinue("http://\(ExpectContinueCache.capacity):80"))
    }
}
