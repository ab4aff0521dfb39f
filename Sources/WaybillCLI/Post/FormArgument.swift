import Waybill

/// A parsed argument of `-F` or `--form-string`.
///
/// The grammar is curl's (`curl(1)`, `-F`): `name=value`, `name=@file`, `name=@one,two`, `name=<file`, each followed by
/// `;type=…` and `;filename=…`, with values in double quotes if they contain `;` or `,`. There are two additions:
/// `name=env:VAR`, and `name=credential:NAME` for the outbox. Where curl warns and ignores a part of the argument, this
/// throws, because the ignored part was intended.
struct FormArgument: Sendable, Hashable {
    /// The source of the content.
    enum Source: Sendable, Hashable {
        /// The argument itself.
        case literal(String)
        /// Files, each sent as a separate file part.
        case files([File])
        /// A file whose bytes are sent as text; `-` is standard input. Must not be printed.
        case textFile(String)
        /// An environment variable. Must not be printed.
        case environment(String)
        /// The name of a credential, for the outbox.
        case credential(String)
    }

    /// A file to send.
    struct File: Sendable, Hashable {
        var path: String
        var contentType: String?
        var fileName: String?
        /// Whether it is standard input, written as `@-`. A file of `--each` may be named `-`.
        var isStandardInput = false
    }

    var name: String
    var source: Source
    /// The content type of a text.
    var contentType: String?
    /// The file name of a text.
    var fileName: String?

    /// Parses an argument of `--form-string`: everything after the first `=` is the value.
    init(literal text: String) throws(CommandFailure) {
        (name, source) = (try Self.name(of: text, option: "--form-string"), .literal(Self.content(of: text)))
    }

    /// Parses an argument of `-F`.
    init(_ text: String) throws(CommandFailure) {
        name = try Self.name(of: text, option: "-F")
        let content = Self.content(of: text)
        do throws(FormScanner.Problem) {
            switch content.unicodeScalars.first {
            case "@": source = .files(try Self.files(content))
            case "<":
                let (path, parameters) = try Self.single(Substring(content.unicodeScalars.dropFirst()))
                guard !path.isEmpty else { throw .init("has no file name after \"<\"") }
                source = .textFile(path)
                (contentType, fileName) = (parameters.contentType, parameters.fileName)
            case "(":
                throw .init("begins with \"(\", which is curl's syntax for nested forms and not supported")
            default:
                let (value, parameters) = try Self.single(content[...])
                source = try Self.source(ofValue: value, in: content)
                (contentType, fileName) = (parameters.contentType, parameters.fileName)
            }
        } catch {
            throw .usage(
                "-F: the value of \(Redaction.quoted(name)) \(error.message). "
                    + "To send a text unchanged, use --form-string '\(Redaction.escaped(name))=…'.")
        }
    }

    private static func name(of text: String, option: String) throws(CommandFailure) -> String {
        guard let equals = text.unicodeScalars.firstIndex(of: "=") else {
            throw .usage("\(option) must be name=value; one argument has no \"=\".")
        }
        guard equals > text.startIndex else {
            throw .usage("\(option) must be name=value; one argument has no name.")
        }
        return String(text[..<equals])
    }

    private static func content(of text: String) -> String {
        guard let equals = text.unicodeScalars.firstIndex(of: "=") else { return "" }
        return String(text.unicodeScalars[text.unicodeScalars.index(after: equals)...])
    }
}

extension FormArgument {
    private static func source(ofValue value: String, in content: String) throws(FormScanner.Problem) -> Source {
        // A quoted value is literal.
        guard content.unicodeScalars.first != "\"" else { return .literal(value) }
        if value.hasPrefix("credential:") {
            let name = String(value.dropFirst(11))
            guard (try? CredentialName.checked(name, for: "-F")) != nil else {
                throw .init(
                    "has no valid credential name after \"credential:\" (1 to 64 letters, digits, \"-\", \"_\", \".\")")
            }
            return .credential(name)
        }
        guard value.hasPrefix("env:") else { return .literal(value) }
        let variable = String(value.dropFirst(4))
        let isName = { (byte: UInt8) in
            byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                || (0x61...0x7A).contains(byte)
        }
        guard let first = variable.utf8.first, !(0x30...0x39).contains(first), variable.utf8.allSatisfy(isName) else {
            throw .init("has no environment variable after \"env:\"")
        }
        return .environment(variable)
    }

    private static func single(
        _ content: Substring
    ) throws(FormScanner.Problem) -> (String, FormParameters) {
        var scanner = FormScanner(content, stop: nil)
        let value = try scanner.word()
        return (value, try FormParameters(&scanner))
    }

    private static func files(_ content: String) throws(FormScanner.Problem) -> [File] {
        var scanner = FormScanner(Substring(content.unicodeScalars.dropFirst()), stop: ",")
        var files: [File] = []
        repeat {
            let path = try scanner.word()
            guard !path.isEmpty else { throw .init("has no file name after \"\(files.isEmpty ? "@" : ",")\"") }
            let parameters = try FormParameters(&scanner)
            files.append(
                File(
                    path: path, contentType: parameters.contentType, fileName: parameters.fileName,
                    isStandardInput: path == "-"))
        } while scanner.consume(",")
        return files
    }
}
