import Testing

@testable import WaybillStores

@Suite struct `XML responses of stores` {
    @Test func `elements, text, entities, CDATA and comments are parsed`() throws {
        let text = """
            \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>
            <!-- a <b> that is none -->
            <List xmlns="http://doc.oss/" a='>"'>
              <Key>a&amp;b &lt;&#x7A7A;&#65;&gt;</Key><Empty/><o:Raw><![CDATA[<&amp;]]></o:Raw>
              <Part><N> 1 </N></Part><Part><N>2</N></Part>
            </List>
            """
        let root = try BoundedXMLParser.read(Array(text.utf8))
        #expect(root.name == "List")
        #expect(root["Key"] == "a&b <空A>")
        #expect(root["Empty"] == "")
        #expect(root["Raw"] == "<&amp;")
        #expect(root.all("Part").map { $0["N"] } == ["1", "2"])
        #expect(root["None"] == nil)
    }

    @Test(
        arguments: [
            "", "   ", "no markup", "<a>", "<a></b>", "</a>", "<a><b></a></b>", "<>", "< a/>", "<a", "<a href='",
            "<a>&x;</a>",
            "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#x110000;</a>", "<a>&", "<a>&amp</a>", "<!DOCTYPE a><a/>",
            "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "<!ENTITY x SYSTEM \"file:///etc/passwd\"><a/>", "text<a/>",
            "<![CDATA[x]]><a/>", "<!-- <a/>", "<?xml <a/>", "<a><![CDATA[x</a>", "<a>&lol;&lol;</a>",
        ])
    func `malformed XML and document types are refused`(_ text: String) {
        #expect(throws: BoundedXMLParser.ParseError.self) { try BoundedXMLParser.read(Array(text.utf8)) }
    }

    @Test func `depth, element count, tag length and size are bounded`() {
        let hostile = [
            String(repeating: "<a>", count: 100_000), "<r>" + String(repeating: "<a/>", count: 30_000) + "</r>",
            "<a " + String(repeating: "b='c' ", count: 10_000) + "/>",
            "<a>" + String(repeating: "x", count: 5 << 20) + "</a>",
        ]
        for text in hostile {
            #expect(throws: BoundedXMLParser.ParseError.self) { try BoundedXMLParser.read(Array(text.utf8)) }
        }
        #expect(throws: BoundedXMLParser.ParseError.self) {
            try BoundedXMLParser.read(Array("<a>".utf8) + [0xFF] + Array("</a>".utf8))
        }
    }

    @Test func `XML truncated anywhere is refused`() throws {
        let whole = Array("<?xml version=\"1.0\"?><E a=\"1\"><!-- c --><Code>A&amp;B</Code><![CDATA[<]]><M/></E>".utf8)
        _ = try BoundedXMLParser.read(whole)
        for cut in 0..<whole.count {
            #expect(throws: BoundedXMLParser.ParseError.self, "cut at \(cut)") {
                try BoundedXMLParser.read(Array(whole[..<cut]))
            }
        }
    }
}
