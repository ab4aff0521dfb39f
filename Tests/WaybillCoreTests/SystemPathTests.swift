import Testing
import WaybillCore

/// File names with arbitrary bytes, represented as strings.
struct SystemPathTests {
    static let names: [[UInt8]] = [
        [], Array("plain.jpg".utf8), Array("空 é 🙂".utf8), [0xE9], Array("caf".utf8) + [0xE9] + Array(".jpg".utf8),
        [0xC3], [0xE7, 0xA9], [0xF0, 0x9F, 0x99], [0x80, 0xFF, 0xFE], [0xC0, 0xAF], [0xED, 0xA0, 0x80],
        [0xF4, 0x90, 0x80, 0x80], Array("\u{10FF69}".utf8), Array("a\u{10FF00}b\u{10FF7F}".utf8),
        Array("\u{10FEFF}\u{10FF80}\u{10FFFF}".utf8),
    ]

    @Test(arguments: names) func `the bytes of a name survive conversion to text`(_ name: [UInt8]) {
        let text = SystemPath.text(of: name)
        #expect(SystemPath.bytes(of: text) == name)
        let seen = unsafe SystemPath.with(text) { path in
            unsafe Array(UnsafeRawBufferPointer(start: path, count: name.count + 1))
        }
        #expect(seen == name + [0])
    }

    @Test func `each pair of bytes survives conversion and has a unique text`() {
        var texts: Set<[UInt8]> = []
        for first in UInt8.min ... .max {
            for second in UInt8.min ... .max {
                let text = SystemPath.text(of: [first, second])
                #expect(SystemPath.bytes(of: text) == [first, second])
                texts.insert(Array(text.utf8))
            }
        }
        #expect(texts.count == 65_536)
    }

    @Test func `valid UTF-8 is unchanged`() {
        for text in ["", "plain.jpg", "空 é 🙂", "\u{10FEFF}\u{10FF80}"] {
            #expect(SystemPath.text(of: Array(text.utf8)) == text)
            #expect(SystemPath.isUTF8(text))
        }
        #expect(!SystemPath.isUTF8(SystemPath.text(of: [0x61, 0xE9])))
    }
}
