import Testing

@testable import WaybillCLI

@Suite struct OutputPatternTests {
    @Test(arguments: [
        ("small/{name}-100k.jpg", "cards/front.jpeg", "small/front-100k.jpg"),
        ("{folder}/{name}.jpg", "cards/front.jpeg", "cards/front.jpg"), ("{folder}/{name}.jpg", "a.b", "./a.jpg"),
        ("{folder}/{name}.jpg", "/a.b.c", "/a.b.jpg"), ("{name}{name}", "x/.hidden", ".hidden.hidden"),
        ("plain.jpg", "x.jpg", "plain.jpg"), ("{other}{name", "x.jpg", "{other}{name"),
        // Placeholders in a file name are not expanded.
        ("{name}.jpg", "{folder}{name}.png", "{folder}{name}.jpg"), ("{name}", "照片.jpg", "照片"), ("", "x.jpg", ""),
    ]) func `a pattern expands to a path`(pattern: String, input: String, path: String) {
        #expect(OutputPattern(text: pattern).path(for: input) == path)
    }

    @Test func `text is escaped in HTML`() {
        #expect(ReportText.escaped("<a b='\"'>&") == "&lt;a b=&#39;&quot;&#39;&gt;&amp;")
        // A combining mark must not hide the character before it from the escaping.
        #expect(ReportText.escaped("<\u{338}script>\u{301}") == "&lt;\u{338}script&gt;\u{301}")
        #expect(ReportText.escaped("a\u{202E}b\u{0}c\n") == "a\\u{202e}b\\u{0}c\\u{a}")
    }
}
