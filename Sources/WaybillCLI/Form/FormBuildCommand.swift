import ArgumentParser
import Glibc
import Waybill

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
