import FoundationEssentials
import Testing

@testable import WaybillMultipart

@Suite struct FormFieldEncoderTests {
    struct Item: Encodable, Sendable {
        var itemName: String
        var count: Int
    }

    struct Order: Encodable, Sendable {
        var orderID = 7
        var tags = ["a", "b"]
        var items = [Item(itemName: "x", count: 1), Item(itemName: "y", count: 2)]
        var owner = ["b": "2", "a": "1"]
        var isPaid = true
        var none: Int?
        var ratio = 0.5
        var empty: [Int] = []
    }

    /// Returns names and texts as `name=text`.
    func fields(_ value: some Encodable, _ encoder: FormFieldEncoder = FormFieldEncoder()) throws -> [String] {
        try encoder.parts(of: value).map { part in
            switch part.content {
            case .text(let text): "\(part.name)=\(text)"
            case .bytes(let bytes): "\(part.name)=\(bytes)"
            default: "\(part.name)=?"
            }
        }
    }

    @Test(
        arguments: [
            (
                .brackets,
                [
                    "tags[]=a", "tags[]=b", "items[][itemName]=x", "items[][count]=1", "items[][itemName]=y",
                    "items[][count]=2", "owner[a]=1", "owner[b]=2",
                ]
            ),
            (
                .indexInBrackets,
                [
                    "tags[0]=a", "tags[1]=b", "items[0][itemName]=x", "items[0][count]=1", "items[1][itemName]=y",
                    "items[1][count]=2", "owner[a]=1", "owner[b]=2",
                ]
            ),
            (
                .noBrackets,
                [
                    "tags=a", "tags=b", "items[itemName]=x", "items[count]=1", "items[itemName]=y", "items[count]=2",
                    "owner[a]=1", "owner[b]=2",
                ]
            ),
            (
                .dots,
                [
                    "tags.0=a", "tags.1=b", "items.0.itemName=x", "items.0.count=1", "items.1.itemName=y",
                    "items.1.count=2", "owner.a=1", "owner.b=2",
                ]
            ),
        ] as [(FieldNameStyle, [String])])
    func `nested names follow the style of the server and the order of the value`(
        style: FieldNameStyle, nested: [String]
    ) throws {
        #expect(
            try fields(Order(), FormFieldEncoder(style: style)) == ["orderID=7"] + nested + [
                "isPaid=true", "ratio=0.5",
            ])
    }

    @Test(arguments: [
        ("myURLProperty", "my_url_property", "my-url-property"), ("orderID", "order_id", "order-id"),
        ("plain", "plain", "plain"), ("URL", "url", "url"), ("aB", "a_b", "a-b"),
        ("version2Name", "version2_name", "version2-name"),
    ])
    func `keys are split into words`(key: String, snake: String, kebab: String) {
        #expect(FormFieldEncoder.KeyStrategy.snakeCase.name(for: key) == snake)
        #expect(FormFieldEncoder.KeyStrategy.kebabCase.name(for: key) == kebab)
    }

    @Test func `keys of types are renamed, keys of dictionaries are not`() throws {
        struct Both: Encodable { var myMap = ["someKey": 1] }
        #expect(try fields(Both(), FormFieldEncoder(keys: .snakeCase)) == ["my_map[someKey]=1"])
        #expect(
            try fields(["someKey": Item(itemName: "x", count: 1)], FormFieldEncoder(keys: .capitalized)) == [
                "someKey[ItemName]=x", "someKey[Count]=1",
            ])
        #expect(try fields(Both(), FormFieldEncoder(keys: .uppercased)) == ["MYMAP[someKey]=1"])
        #expect(try fields(Both(), FormFieldEncoder(keys: .lowercased)) == ["mymap[someKey]=1"])
        #expect(try fields(Both(), FormFieldEncoder(keys: .custom { "x" + $0 })) == ["xmyMap[someKey]=1"])
    }

    @Test func `dates, booleans, data and nil follow the strategies`() throws {
        struct All: Encodable {
            var date = Date(timeIntervalSince1970: 1_000.5)
            var flag = false
            var data = Data([1, 2, 255])
            var url = URL(string: "https://a.example/b?c")
            var decimal = Decimal(string: "1.10")
            var nothing: String?
            enum CodingKeys: String, CodingKey { case date, flag, data, url, decimal, nothing }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(date, forKey: .date)
                try container.encode(flag, forKey: .flag)
                try container.encode(data, forKey: .data)
                try container.encode(url, forKey: .url)
                try container.encode(decimal, forKey: .decimal)
                try container.encode(nothing, forKey: .nothing)
            }
        }
        #expect(
            try fields(All()) == [
                "date=1970-01-01T00:16:40Z", "flag=false", "data=AQL/", "url=https://a.example/b?c", "decimal=1.1",
            ])
        let other = FormFieldEncoder(dates: .secondsSince1970, bools: .digits, data: .part, nils: .empty)
        #expect(
            try fields(All(), other) == [
                "date=1000.5", "flag=0", "data=[1, 2, 255]", "url=https://a.example/b?c", "decimal=1.1", "nothing=",
            ])
        let third = FormFieldEncoder(
            dates: .millisecondsSince1970, bools: .custom { $0 ? "Y" : "N" }, data: .custom { "\($0.count)" },
            nils: .null)
        #expect(try fields(All(), third).prefix(3) == ["date=1000500", "flag=N", "data=3"])
        #expect(try fields(All(), third).last == "nothing=null")
        #expect(
            try fields(["d": Date(timeIntervalSinceReferenceDate: 5)], FormFieldEncoder(dates: .deferredToDate)) == [
                "d=5.0"
            ])
        #expect(
            try fields(["d": Date(timeIntervalSince1970: 5)], FormFieldEncoder(dates: .secondsSince1970)) == ["d=5"])
        #expect(try fields(["d": Date.distantPast], FormFieldEncoder(dates: .custom { _ in "then" })) == ["d=then"])
    }

    @Test func `secrets are marked by their key, also nested ones`() throws {
        struct Login: Encodable { var user = "u"; var keys = ["k1", "k2"]; var password = "p" }
        let parts = try FormFieldEncoder(secrets: ["password", "keys"]).parts(of: Login())
        #expect(parts.map { $0.description.contains("<redacted>") } == [false, true, true, true])
    }

    @Test func `enums, nested containers, superclasses and single values become fields`() throws {
        enum Kind: String, Encodable { case a }
        enum Event: Encodable { case moved(x: Int, y: Int) }
        struct Wrapped: Encodable {
            var value: Int
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(value)
            }
        }
        class Base: Encodable { var base = 1 }
        final class Derived: Base {
            var own = 2
            enum CodingKeys: CodingKey { case own, list, map }
            override func encode(to encoder: any Encoder) throws {
                try super.encode(to: encoder)
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(own, forKey: .own)
                var list = container.nestedUnkeyedContainer(forKey: .list)
                try list.encode(1)
                try list.encodeNil()
                try list.encode("x")
                var map = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .map)
                try map.encode(Wrapped(value: 9), forKey: .own)
            }
        }
        struct All: Encodable {
            var kind = Kind.a; var event = Event.moved(x: 1, y: -2); var wrapped = Wrapped(value: 3)
        }
        #expect(
            try fields(All(), FormFieldEncoder(style: .dots)) == [
                "kind=a", "event.moved.x=1", "event.moved.y=-2", "wrapped=3",
            ])
        #expect(
            try fields(Derived(), FormFieldEncoder(style: .dots)) == [
                "base=1", "own=2", "list.0=1", "list.2=x", "map.own=9",
            ])
    }

    final class Node: Encodable, @unchecked Sendable {
        var name = "n"
        var next: Node?
    }

    final class Single: Encodable, Sendable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self)
        }
    }

    /// Passes on its own encoder recursively.
    final class Direct: Encodable, Sendable {
        enum CodingKeys: CodingKey { case a }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(1, forKey: .a)
            try encode(to: encoder)
        }
    }

    @Test func `a value that contains itself is a typed error, as fields and as JSON`() async throws {
        let node = Node()
        node.next = node
        defer { node.next = nil }
        for value in [node, Single(), Direct()] as [any Encodable & Sendable] {
            func check(_ value: some Encodable & Sendable) async {
                #expect(await BodyError.Code.thrown { _ = try FormFieldEncoder().parts(of: value) } == .nestedTooDeep)
                let form: MultipartForm = [.text("a", "1"), .json("j", value)]
                let error = await #expect(throws: BodyError.self) { try await form.prepared() }
                #expect(error?.code == .nestedTooDeep && error?.part == "j" && error?.partIndex == 1)
            }
            await check(value)
        }
    }

    @Test func `sixty levels are encoded, as fields and as JSON`() async throws {
        var node = Node()
        for _ in 0..<60 {
            let outer = Node()
            outer.next = node
            node = outer
        }
        #expect(try FormFieldEncoder().parts(of: node).count == 61)
        _ = try await MultipartForm([.json("j", node)]).prepared()
    }

    @Test func `a value without names and a non-finite number are refused`() async throws {
        for value in [5, [1, 2], "x", true] as [any Encodable & Sendable] {
            #expect(await BodyError.Code.thrown { _ = try FormFieldEncoder().parts(of: value) } == .encodingFailed)
        }
        #expect(
            await BodyError.Code.thrown { _ = try FormFieldEncoder().parts(of: ["a": Double.nan]) } == .encodingFailed)
        var form: MultipartForm = [.text("a", "1")]
        #expect(throws: BodyError.self) {
            try form.append(fields: ["b": "1", "c": nil, "d": "2"].mapValues { $0.map { _ in Double.infinity } })
        }
        #expect(form.parts.count == 1, "nothing is added by a value that fails")
        try form.append(fields: ["b": 1])
        #expect(form.parts.map(\.name) == ["a", "b"])
    }

    @Test func `an error thrown by a value is the cause`() async throws {
        struct Mine: Error {}
        struct Broken: Encodable {
            func encode(to encoder: any Encoder) throws { throw Mine() }
        }
        let error = #expect(throws: BodyError.self) { try FormFieldEncoder().parts(of: ["a": Broken()]) }
        #expect(error?.code == .encodingFailed && error?.cause is Mine)
    }
}

/// Values at the limits of their types.
extension FormFieldEncoderTests {
    @Test(arguments: [Double.infinity, -.infinity, .nan, 1e300, -1e300, 1e18])
    func `a date that cannot be written is refused and never traps`(seconds: Double) async throws {
        let value = ["d": Date(timeIntervalSince1970: seconds)]
        for dates in [FormFieldEncoder.DateStrategy.iso8601, .millisecondsSince1970] {
            if case .millisecondsSince1970 = dates, seconds == 1e18 { continue }
            let error = #expect(throws: BodyError.self) { try FormFieldEncoder(dates: dates).parts(of: value) }
            #expect(error?.code == .encodingFailed && error?.message.contains("\"d\"") == true)
        }
        for dates in [FormFieldEncoder.DateStrategy.secondsSince1970, .deferredToDate] where !seconds.isFinite {
            #expect(throws: BodyError.self) { try FormFieldEncoder(dates: dates).parts(of: value) }
        }
        // In JSON, the encoder refuses or writes it.
        _ = try? await MultipartForm([.json("j", value)]).prepared()
    }

    @Test func `the first and the last second of ISO 8601 are written`() throws {
        for (seconds, text) in [(-62_135_769_600.0, "0001-01-01T00:00:00Z"), (253_402_300_799, "9999-12-31T23:59:59Z")]
        {
            #expect(try fields(["d": Date(timeIntervalSince1970: seconds)]) == ["d=\(text)"])
        }
        for seconds in [253_402_300_800.0, -62_135_769_601] {
            #expect(throws: BodyError.self) { try fields(["d": Date(timeIntervalSince1970: seconds)]) }
        }
    }

    @Test func `a decimal that is not a number is refused`() {
        let error = #expect(throws: BodyError.self) { try FormFieldEncoder().parts(of: ["d": Decimal.nan]) }
        #expect(error?.code == .encodingFailed)
    }

    @Test func `a secret in a dictionary is redacted like one in a struct`() throws {
        struct Holder: Encodable { var map = ["token": ["t0p-s3cret"], "open": ["shown"]] }
        let encoder = FormFieldEncoder(secrets: ["token"])
        let map = ["token": "t0p-s3cret", "open": "shown"]
        for parts in [try encoder.parts(of: map), try encoder.parts(of: Holder())] {
            let printed = MultipartForm(parts).curlArguments.lines.joined() + "\(parts)"
            #expect(!printed.contains("t0p-s3cret") && printed.contains("shown"))
        }
    }

    @Test func `a nil omitted by a struct is written if requested`() throws {
        struct Order: Encodable {
            var id: Int? = 1
            var note: String?
            var inner: Inner?
            var flag: Bool? = true
            var ratio: Double?
        }
        struct Inner: Encodable { var count: Int8? }
        #expect(try fields(Order()) == ["id=1", "flag=true"])
        #expect(
            try fields(Order(), FormFieldEncoder(nils: .null)) == [
                "id=1", "note=null", "inner=null", "flag=true", "ratio=null",
            ])
        #expect(
            try fields(Order(inner: Inner()), FormFieldEncoder(style: .dots, nils: .empty)) == [
                "id=1", "note=", "inner.count=", "flag=true", "ratio=",
            ])
    }
}
