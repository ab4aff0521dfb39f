/// An element of a store's XML response: its name, its own text, and its child elements. Attributes are discarded.
struct XMLNode: Sendable, Hashable {
    var name: String
    var text = ""
    var children: [XMLNode] = []

    /// The text of the first child element of this name, without surrounding whitespace.
    subscript(_ name: String) -> String? { children.first { $0.name == name }.map(\.trimmed) }

    /// Returns all child elements of a name.
    func all(_ name: String) -> [XMLNode] { children.filter { $0.name == name } }

    /// The text without surrounding whitespace.
    var trimmed: String {
        let bytes = text.utf8
        let whitespace: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        guard let first = bytes.firstIndex(where: { !whitespace.contains($0) }),
            let last = bytes.lastIndex(where: { !whitespace.contains($0) })
        else { return "" }
        return String(text[first...last])
    }
}

/// A parser for the subset of XML in the responses of object stores.
///
/// Supports elements, text, CDATA, comments and the five predefined entities (XML 1.0 section 4.6). A document type
/// declaration, and with it every entity that the document declares, is rejected, which rules out entity expansion and
/// external resources. Size, depth, number of elements and length of a tag are limited; the bytes must be UTF-8.
struct BoundedXMLParser {
    /// The reason why a document is rejected.
    struct ParseError: Error, Hashable, CustomStringConvertible {
        let description: String
    }

    /// The limits of a document.
    struct Limits: Sendable {
        var bytes = 4 << 20
        var depth = 16
        var elements = 20_000
        var tag = 4_096
    }

    private let bytes: [UInt8]
    private let limits: Limits
    private var index = 0
    private var count = 0

    /// Parses a document and returns its root element.
    static func read(_ bytes: [UInt8], limits: Limits = Limits()) throws(ParseError) -> XMLNode {
        guard bytes.count <= limits.bytes else {
            throw ParseError(description: "it exceeds \(limits.bytes) bytes")
        }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw ParseError(description: "it is not UTF-8") }
        var reader = BoundedXMLParser(bytes: bytes, limits: limits)
        return try reader.document()
    }

    private init(bytes: [UInt8], limits: Limits) {
        self.bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        self.limits = limits
    }

    private mutating func document() throws(ParseError) -> XMLNode {
        var open: [XMLNode] = []
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "<") else {
                try text(into: &open)
                continue
            }
            if starts(with: "<!--") {
                try skip(past: "-->")
            } else if starts(with: "<![CDATA[") {
                try characters(into: &open)
            } else if starts(with: "<!") {
                throw ParseError(description: "it has a document type declaration, which is not supported")
            } else if starts(with: "<?") {
                try skip(past: "?>")
            } else if let root = try tag(&open) {
                return root
            }
        }
        throw ParseError(description: open.isEmpty ? "it has no root element" : "it ends inside an element")
    }

    /// Parses a tag. Returns the root element if the tag closes it.
    private mutating func tag(_ open: inout [XMLNode]) throws(ParseError) -> XMLNode? {
        let inside = try tagText()
        let isEnd = inside.first == UInt8(ascii: "/")
        let isEmptyElement = inside.last == UInt8(ascii: "/")
        let name = Self.name(isEnd ? inside.dropFirst() : inside)
        guard !name.isEmpty else { throw ParseError(description: "it has a tag without a name") }
        guard isEnd else {
            count += 1
            guard count <= limits.elements else { throw ParseError(description: "it has too many elements") }
            guard open.count < limits.depth else { throw ParseError(description: "its elements are nested too deep") }
            open.append(XMLNode(name: name))
            return isEmptyElement ? close(&open) : nil
        }
        guard open.last?.name == name else { throw ParseError(description: "its tags do not match") }
        return close(&open)
    }

    private func close(_ open: inout [XMLNode]) -> XMLNode? {
        let element = open.removeLast()
        guard !open.isEmpty else { return element }
        open[open.count - 1].children.append(element)
        return nil
    }

    /// Returns the bytes between `<` and `>`; a `>` in quotation marks does not end the tag.
    private mutating func tagText() throws(ParseError) -> ArraySlice<UInt8> {
        var quote: UInt8?
        let start = index + 1
        var end = start
        while end < bytes.count {
            let byte = bytes[end]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                index = end + 1
                return bytes[start..<end]
            }
            end += 1
            guard end - start <= limits.tag else { throw ParseError(description: "it has a tag that is too long") }
        }
        throw ParseError(description: "it ends inside a tag")
    }

    private mutating func text(into open: inout [XMLNode]) throws(ParseError) {
        let end = bytes[index...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.endIndex
        let piece = bytes[index..<end]
        index = end
        guard !open.isEmpty else {
            guard piece.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) else {
                throw ParseError(description: "it has text outside of the root element")
            }
            return
        }
        open[open.count - 1].text += try Self.decoded(piece)
    }

    private mutating func characters(into open: inout [XMLNode]) throws(ParseError) {
        let start = index + "<![CDATA[".utf8.count
        try skip(past: "]]>")
        guard !open.isEmpty else { throw ParseError(description: "it has text outside of the root element") }
        open[open.count - 1].text += String(decoding: bytes[start..<(index - 3)], as: UTF8.self)
    }

    private func starts(with text: StaticString) -> Bool { bytes[index...].starts(with: "\(text)".utf8) }

    private mutating func skip(past text: StaticString) throws(ParseError) {
        let mark = Array("\(text)".utf8)
        while index + mark.count <= bytes.count {
            if bytes[index] == mark[0], bytes[index..<(index + mark.count)].elementsEqual(mark) {
                index += mark.count
                return
            }
            index += 1
        }
        throw ParseError(description: "it ends unexpectedly")
    }

    private static func name(_ tag: ArraySlice<UInt8>) -> String {
        let name = tag.prefix { ![0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: "/")].contains($0) }
        // Discard the namespace prefix: the stores use a single namespace.
        return String(decoding: name.split(separator: UInt8(ascii: ":")).last ?? [], as: UTF8.self)
    }

    private static func decoded(_ piece: ArraySlice<UInt8>) throws(ParseError) -> String {
        guard piece.contains(UInt8(ascii: "&")) else { return String(decoding: piece, as: UTF8.self) }
        var result: [UInt8] = []
        var rest = piece
        while let mark = rest.firstIndex(of: UInt8(ascii: "&")) {
            result += rest[..<mark]
            guard let end = rest[mark...].prefix(12).firstIndex(of: UInt8(ascii: ";")),
                let scalar = entity(String(decoding: rest[(mark + 1)..<end], as: UTF8.self))
            else { throw ParseError(description: "it has an entity that is not predefined in XML") }
            result += Array(String(Character(scalar)).utf8)
            rest = rest[(end + 1)...]
        }
        return String(decoding: result + rest, as: UTF8.self)
    }

    private static func entity(_ name: String) -> Unicode.Scalar? {
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default: break
        }
        guard name.hasPrefix("#") else { return nil }
        let isHexadecimal = name.hasPrefix("#x")
        let number = UInt32(name.dropFirst(isHexadecimal ? 2 : 1), radix: isHexadecimal ? 16 : 10)
        // XML 1.0 section 2.2: tab and line ends are the only control characters allowed.
        guard let number, number >= 0x20 || [0x09, 0x0A, 0x0D].contains(number) else { return nil }
        return Unicode.Scalar(number)
    }
}
