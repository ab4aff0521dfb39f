import ArgumentParser
import Glibc
import Waybill

/// `waybill form`: builds and parses forms without sending them.
struct FormCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "form", abstract: "Builds and parses forms without sending them.",
        subcommands: [FormBuildCommand.self, FormParseCommand.self])
}

/// `waybill form build`: the body that `waybill post` would send.
struct FormBuildCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "build",
        abstract: "Writes the body that `waybill post` would send.",
        discussion: """
            The body is written to standard output, or to a file that appears only when complete. Its header fields, \
            Content-Type and Content-Length, are written to standard error. -F and --form-string work as in waybill \
            post.

            EXAMPLES:
              waybill form build -F 'TOKEN=env:TOKEN' -F 'front=@card.jpg' -o form.bin
              waybill form build -F 'a=1' --boundary golden | xxd
              waybill form build -F 'front=@card.jpg' --max-bytes 100KiB --preview

            EXIT STATUS:
            \(Exit.table)
            """)

    @OptionGroup(title: "Form") var form: FormOptions

    @Option(
        name: .customLong("boundary"),
        help: ArgumentHelp(
            "The boundary: 1 to 70 letters, digits and '+-._. Default: random. "
                + "If it begins with a dash, write --boundary=--x.",
            valueName: "boundary"))
    var boundary: String?

    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")],
        help: ArgumentHelp("The output file; - is standard output.", valueName: "file"), completion: .file())
    var output = "-"

    @Flag(name: .customLong("force"), help: "Replace an existing output file.")
    var force = false

    @Flag(
        name: .customLong("preview"),
        help: "Print the header lines of the parts and the sizes of their contents instead of the body.")
    var isPreview = false

    static var manyArguments: [String: ManyArguments<Self>] {
        [
            "form": .texts(\.form.form), "form-string": .texts(\.form.formString), "max-bytes": .texts(\.form.maxBytes),
            "quality": .texts(\.form.quality),
        ]
    }

    func run() async throws {
        try StandardInput.check(form, [])
        let assembly = try FormAssembly(form, arguments: CommandWords.all, images: ImageLog())
        Console.standard.hide(assembly.secrets)
        guard isPreview || output != "-" || isatty(STDOUT_FILENO) == 0 else {
            throw CommandFailure.usage(
                "The form is not printed to a terminal. Name a file with -o, use a pipe, or print a preview with "
                    + "--preview.")
        }
        let builder = FormBuild(form: MultipartForm(assembly.parts), boundary: boundary)
        let target: FormBuild.Target =
            isPreview ? .preview : output == "-" ? .standardOutput : .file(path: output, replaces: force)
        Interrupt.arm()
        let work = Task { await builder.run(into: target) }
        Interrupt.onFirst { _ in work.cancel() }
        if let failure = await work.value { throw failure }
    }
}

/// `waybill form parse`: lists the parts of a body.
struct FormParseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "parse",
        abstract: "Parses a multipart/form-data body and prints its parts.",
        discussion: """
            Prints one JSON object per part, and one for the form when it is complete. Without --extract, file \
            contents are discarded. With it, each file is stored in the directory under its sanitized name, with a \
            number added if that name exists. A file appears only when complete; nothing is replaced.

            EXAMPLES:
              waybill form parse --content-type 'multipart/form-data; boundary=golden' form.bin
              curl -sD head https://backend.example/form | waybill form parse --content-type "$TYPE" --extract parts

            EXIT STATUS:
            \(Exit.table)
            """)

    @Argument(help: ArgumentHelp("The body; - is standard input.", valueName: "file"), completion: .file())
    var input = "-"

    @Option(
        name: .customLong("content-type"),
        help: ArgumentHelp("The Content-Type of the request, with its boundary.", valueName: "type"))
    var contentType: String

    @Option(
        name: .customLong("extract"),
        help: ArgumentHelp("The directory for files, created if missing.", valueName: "directory"),
        completion: .directory)
    var directory: String?

    @Option(name: .customLong("max-parts"), help: ArgumentHelp("The maximum number of parts.", valueName: "number"))
    var parts = MultipartLimits().parts

    @Option(
        name: .customLong("max-field"),
        help: ArgumentHelp("The maximum size of a field that is not a file. Default: 1MiB.", valueName: "size"))
    var field: String?

    @Option(
        name: .customLong("max-total"),
        help: ArgumentHelp("The maximum size of the body. Default: no limit.", valueName: "size"))
    var total: String?

    func run() async throws {
        var limits = MultipartLimits()
        limits.parts = parts
        (limits.fileBytes, limits.allFileBytes) = (nil, nil)
        if let field { limits.fieldBytes = try SizeArgument.size(field, for: "--max-field") }
        if let total { limits.total = try SizeArgument.size(total, for: "--max-total") }
        let parse = try FormParse(
            input: InputChunks(input), contentType: contentType, limits: limits, directory: directory)
        Interrupt.arm()
        let work = Task { await parse.run() }
        Interrupt.onFirst { _ in work.cancel() }
        if let failure = await work.value { throw failure }
    }
}
