import ArgumentParser
import Glibc
import Waybill

/// `waybill form`: builds and parses forms without sending them.
struct FormCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "form", abstract: "Makes the bytes of a form without sending them, and reads them.",
        subcommands: [FormBuildCommand.self, FormParseCommand.self])
}

/// `waybill form build`: the body that `waybill post` would send.
struct FormBuildCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "build",
        abstract: "Writes the body that `waybill post` would send.",
        discussion: """
            The body goes to standard output or to a file, which appears whole or not at all. Its header fields, \
            Content-Type and Content-Length, go to standard error. -F and --form-string are those of waybill post.

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
            "The boundary, 1 to 70 letters, digits and '+-._; random unless set. One that begins with a dash: --boundary=--x",
            valueName: "boundary"))
    var boundary: String?

    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")],
        help: ArgumentHelp("The file to make; - is standard output.", valueName: "file"), completion: .file())
    var output = "-"

    @Flag(name: .customLong("force"), help: "Replace the output if it is there.")
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
                "A form is nothing for a terminal. Name a file with -o, send it on through a pipe, or look at it with "
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
        abstract: "Reads a body of multipart/form-data and prints its parts.",
        discussion: """
            Prints one JSON object a part, and one for the form when it was complete. Without --extract, contents of files \
            are read over; with it, each is put into a file of the folder under its suggested name, made safe, or with a \
            number where that name is taken. A file appears when it is complete; nothing is replaced.

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
        help: ArgumentHelp("The folder for files; it is made if it is not there.", valueName: "folder"),
        completion: .directory)
    var folder: String?

    @Option(name: .customLong("max-parts"), help: ArgumentHelp("Parts in the form.", valueName: "number"))
    var parts = MultipartLimits().parts

    @Option(
        name: .customLong("max-field"),
        help: ArgumentHelp("Bytes in a field that is not a file; 1MiB unless set.", valueName: "size"))
    var field: String?

    @Option(
        name: .customLong("max-total"),
        help: ArgumentHelp("Bytes in the body; any number unless set.", valueName: "size"))
    var total: String?

    func run() async throws {
        var limits = MultipartLimits()
        limits.parts = parts
        (limits.fileBytes, limits.allFileBytes) = (nil, nil)
        if let field { limits.fieldBytes = try SizeArgument.size(field, for: "--max-field") }
        if let total { limits.total = try SizeArgument.size(total, for: "--max-total") }
        let parse = try FormParse(input: InputChunks(input), contentType: contentType, limits: limits, folder: folder)
        Interrupt.arm()
        let work = Task { await parse.run() }
        Interrupt.onFirst { _ in work.cancel() }
        if let failure = await work.value { throw failure }
    }
}
