import Testing

@testable import WaybillCLI

@Suite struct FormArgumentTests {
    typealias File = FormArgument.File

    struct Case: Sendable, CustomTestStringConvertible {
        var text: String
        var source: FormArgument.Source
        var contentType: String?
        var fileName: String?
        var testDescription: String { text }
    }

    static let texts: [Case] = [
        Case(text: "n=v", source: .literal("v")),
        Case(text: "n=", source: .literal("")),
        Case(text: "n=a=b", source: .literal("a=b")),
        Case(text: "n= v \t", source: .literal("v")),
        Case(text: "n=\" v \"", source: .literal(" v ")),
        Case(text: #"n="a;b\"c\\d\e""#, source: .literal(#"a;b"c\d\e"#)),
        Case(text: "n=\"a\" ;type=text/plain", source: .literal("a"), contentType: "text/plain"),
        Case(
            text: "n=v;type=text/plain; charset=utf-8", source: .literal("v"), contentType: "text/plain; charset=utf-8"),
        Case(text: "n=v; TYPE=a/b ;FileName=x y", source: .literal("v"), contentType: "a/b", fileName: "x y"),
        Case(
            text: #"n=v;filename="a;\"b\".txt";type=a/b"#, source: .literal("v"), contentType: "a/b",
            fileName: "a;\"b\".txt"),
        Case(text: "n=你好", source: .literal("你好")),
        Case(text: "n=a,b", source: .literal("a,b")),
        Case(text: "n=<token.txt", source: .textFile("token.txt")),
        Case(text: "n=<-", source: .textFile("-")),
        Case(text: "n=<\"a;b\";type=text/html", source: .textFile("a;b"), contentType: "text/html"),
        Case(text: "n=env:TOKEN", source: .environment("TOKEN")),
        Case(text: "n=env:_T1;type=text/plain", source: .environment("_T1"), contentType: "text/plain"),
        Case(text: "n=\"env:TOKEN\"", source: .literal("env:TOKEN")),
        Case(text: "n=\"@x\"", source: .literal("@x")),
    ]

    @Test(arguments: texts) func `text fields are parsed as by curl`(_ example: Case) throws {
        let argument = try FormArgument(example.text)
        #expect(argument.name == "n")
        #expect(argument.source == example.source)
        #expect(argument.contentType == example.contentType)
        #expect(argument.fileName == example.fileName)
    }

    static let files: [(String, [File])] = [
        ("n=@a.jpg", [File(path: "a.jpg")]),
        ("n=@ a.jpg ", [File(path: "a.jpg")]),
        ("n=@a.jpg;type=image/jpeg", [File(path: "a.jpg", contentType: "image/jpeg")]),
        (
            "n=@card.jpg;type=image/jpeg;filename=front.jpg",
            [
                File(path: "card.jpg", contentType: "image/jpeg", fileName: "front.jpg")
            ]
        ),
        (
            "n=@card.jpg;filename=front.jpg;type=image/jpeg",
            [
                File(path: "card.jpg", contentType: "image/jpeg", fileName: "front.jpg")
            ]
        ),
        ("n=@a,b", [File(path: "a"), File(path: "b")]),
        ("n=@-;filename=x.tar", [File(path: "-", fileName: "x.tar", isStandardInput: true)]),
        ("n=@a;type=a/b,b;filename=c", [File(path: "a", contentType: "a/b"), File(path: "b", fileName: "c")]),
        (#"n=@"a,\"b\";c";filename="x,y""#, [File(path: #"a,"b";c"#, fileName: "x,y")]),
        ("n=@a;filename=", [File(path: "a", fileName: "")]),
    ]

    @Test(arguments: files) func `file fields are parsed as by curl`(_ text: String, _ expected: [File]) throws {
        #expect(try FormArgument(text).source == .files(expected))
    }

    @Test(arguments: ["n=@x", "n=<x", "n= v ", "n=a;type=b", "n=\"", "n=env:X", "n=("])
    func `the value of --form-string is taken literally`(_ text: String) throws {
        let argument = try FormArgument(literal: text)
        #expect(argument == (try FormArgument(literal: "n=" + text.dropFirst(2))))
        #expect(argument.source == .literal(String(text.dropFirst(2))))
    }

    static let malformed: [(String, String)] = [
        ("", "no \"=\""), ("name", "no \"=\""), ("=v", "no name"),
        ("n=@", "no file"), ("n=@a,", "no file"), ("n=@,a", "no file"),
        ("n=<", "no file"), ("n=env:", "no environment variable"), ("n=env:1A", "no environment variable"),
        ("n=env:A-B", "no environment variable"),
        ("n=(", "nested forms"), ("n=(;type=multipart/mixed", "nested forms"),
        ("n=\"abc", "unclosed quote"), ("n=\"abc\\\"", "unclosed quote"), ("n=@\"a", "unclosed quote"),
        ("n=\"a\"b", "after its closing quote"), ("n=@\"a\" b", "after its closing quote"),
        ("n=a;b", "double quotes"), ("n=a;", "ends in"), ("n=a;;type=a/b", "two in a row"),
        ("n=@a;typo=a/b", "double quotes"),
        ("n=@a;type=", "invalid type"), ("n=@a;type=jpeg", "invalid type"), ("n=@a;type=/jpeg", "invalid type"),
        ("n=@a;type=a/", "invalid type"), ("n=@a;type=a b/c", "invalid type"),
        ("n=@a;filename=b;filename=c", "two file names"),
        ("n=@a;headers=X: y", "not supported"), ("n=@a;encoder=base64", "not supported"),
    ]

    @Test(arguments: malformed) func `ambiguous syntax is refused with a reason`(
        _ text: String, _ reason: String
    ) {
        let failure = #expect(throws: CommandFailure.self) { try FormArgument(text) }
        #expect(failure?.exit == .usage)
        #expect(failure?.message.contains(reason) == true, "\(failure?.message ?? "")")
    }

    @Test func `an error message quotes no value`() {
        for text in ["s3cret", "T=\"s3cret", "T=s3cret;x", "T=@s3cret;type=s3cret", "T=env:s3cret-x"] {
            let failure = #expect(throws: CommandFailure.self) { try FormArgument(text) }
            #expect(failure?.message.contains("s3cret") == false, "\(failure?.message ?? "")")
        }
    }

    @Test func `the order of -F and --form-string is kept`() {
        let words = [
            "post", "u", "-F", "a", "--form-string", "b", "-Fc", "-kvF", "d", "--form=e", "-o", "-F", "--form-string=f",
        ]
        let order = FormOrder.isLiteral(words)
        #expect(order == [false, true, false, false, false, true])
        #expect(FormOrder.merge(["a", "c", "d", "e"], ["b", "f"], order: order) == ["a", "b", "c", "d", "e", "f"])
        #expect(FormOrder.merge(["a"], ["b"], order: [true]) == ["a", "b"])
        #expect(FormOrder.isLiteral(["--", "-F", "x"]).isEmpty)
    }
}
