import ArgumentParser
import Waybill

/// `waybill form parse`: what is in a body.
struct FormParseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "parse",
        abstract: "Reads a body of multipart/form-data and tells what is in it.",
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
        help: ArgumentHelp("Bytes in a field that is no file; 1MiB unless set.", valueName: "size"))
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
