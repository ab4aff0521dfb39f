import ArgumentParser
import Waybill

/// `waybill post`: sends a form, with the same short options as curl.
struct PostCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "post",
        abstract: "Sends a form and prints the server's response.",
        discussion: """
            The response is written to standard output, everything else to standard error. The letters mean the same as \
            in curl; a response of 300 and above ends the command with 1. A text is sent byte for byte, as curl does, the \
            line break at the end of a file included.

            FORM:
              -F 'name=value'            a text; curl's rule: spaces around it go
              -F 'name="a;b"'            a text with a ; in it, in double quotes
              -F 'name=<token.txt'       a text from a file, never printed; <- is
                                         standard input
              -F 'name=env:TOKEN'        a text from the environment, never printed
              -F 'name=credential:NAME'  with --queue, a text that is only named
              -F 'name=@card.jpg'        a file; @a,b sends two under one name
              -F 'name=@-;filename=a.tar'  standard input, as a file; FIFOs
                                         and <(…) of the shell work, too
              -F 'name=@card.jpg;type=image/jpeg;filename=front.jpg'
              --form-string 'name=@x'    a text, unchanged

            Values on the command line can be read by every user of the machine with ps. For secrets use < or env:, \
            and -H @file. Standard input and pipes are copied to a temporary file first, so that their length is known \
            and a retry can send them again. Names of files are sent by their bytes, in whatever encoding.

            MANY FILES:
            With --each the form is sent once for every file. In the path of a -F and in its filename=, {} stands for the \
            path of the file, {name} for its name without directory and extension, {folder} for its directory. A file that fails \
            leaves the others alone unless --fail-early is given; the exit status is that of the first one, in their \
            order, that failed. --each-from reads the names from a list, one a line, or with -0 each ended by a NUL byte; \
            empty lines are skipped, and all other characters belong to the name. Responses are not printed: -o 'PATTERN' with {name} in it writes each to a file of its \
            own, and with --json they are in the object of each file. The summary comes last, also after a signal, and \
            counts the files that were never started.

            RESPONSES:
            The body of the response is printed, and with -i its status line and header fields before it; -D writes these to \
            a file of their own, as they were received. Of redirects and interim responses only the final head is \
            written, and where no response came a file of -o or -D stays what it was. In the summary of --json, headers \
            lists the fields; values of cookies, of fields whose names suggest a token or password, and queries of \
            addresses are <redacted> there. With 301 and 302 a server does not say whether to send the form again: \
            --redirect chooses.

            PROGRESS:
            A terminal has a bar, by bytes. Elsewhere a line is printed each --progress-interval, 1m unless set, and \
            one for each retry with its reason and its wait. With --each, ~ before the total says that it is an \
            estimate: images count with their limit until they are made.

            QUEUEING:
            With --queue nothing is sent. The form is added to the outbox, with its images recompressed and its boundary \
            chosen, and the number of the item is printed; "waybill outbox run" delivers it, also after kill -9 or a power \
            cut. Each attempt carries the same Idempotency-Key; say --idempotency honoured if the server acts once on each \
            key. No secret is stored: credentials are only named, with --credential and in a form with \
            -F 'name=credential:NAME', and given to "waybill outbox run". Pass network options (-k, -x, --cacert, \
            --limit-rate, …) to "waybill outbox run", too.

            DRY RUN:
            With --dry-run nothing is sent, connected to or stored. The request is printed: the fields of the head, a secret \
            as <redacted>, each part with its length, an image with its length after recompression, and the limits. A file \
            that is missing or can't be read is the same failure, with the same exit status.

            EXAMPLES:
              waybill post https://backend.example/upload -F 'BUSINESSNO=20240001' \\
                -F 'TOKEN=env:TOKEN' -F 'front=@card.jpg;filename=IDFrontImage.jpg' \\
                --max-bytes front=100KiB
              waybill post https://backend.example/upload -F 'file=@report.pdf' \\
                -H @headers.txt --retry 3 --json
              waybill post https://backend.example/upload -F 'TOKEN=env:TOKEN' \\
                -F 'FILE=@{};filename={name}.jpg' --max-bytes 100KiB --each photos/*.jpg
              find photos -name '*.jpg' -print0 | waybill post https://backend.example/upload \
                -F 'FILE=@{}' --each-from - -0
              tar cz notes | waybill post https://backend.example/upload -F 'file=@-;filename=notes.tgz'
              waybill post https://backend.example/upload -F 'TOKEN=credential:backend' \\
                -F 'front=@card.jpg' --max-bytes 100KiB --queue --batch today
              waybill post https://backend.example/upload -F 'TOKEN=env:TOKEN' \\
                -F 'front=@card.jpg' --max-bytes 100KiB --dry-run

            EXIT STATUS:
            \(Exit.table)
            """)

    @Argument(help: "Where to, an absolute http or https URL.")
    var url: String

    @OptionGroup(title: "Form") var form: FormOptions
    @OptionGroup(title: "Many files") var each: EachOptions
    @OptionGroup(title: "Request") var request: RequestOptions
    @OptionGroup(title: "Network") var network: NetworkOptions
    @OptionGroup(title: "Time and rate") var limits: LimitOptions
    @OptionGroup(title: "Queueing") var queue: QueueOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    static var manyArguments: [String: ManyArguments<Self>] {
        [
            "each": .texts(\.each.files), "form": .texts(\.form.form), "form-string": .texts(\.form.formString),
            "header": .texts(\.request.header), "max-bytes": .texts(\.form.maxBytes), "quality": .texts(\.form.quality),
        ]
    }

    func run() async throws {
        let console = Console.standard
        try await finishing(output.json, isReported: \.isRefusal) { () async throws(CommandFailure) in
            try await post(console, output.json ? JSONOutput(console) : nil)
        }
    }

    private func post(_ console: Console, _ json: JSONOutput?) async throws(CommandFailure) -> Exit {
        let headers = request.header.filter { $0.hasPrefix("@") }.map { ("-H", $0.dropFirst().description) }
        try StandardInput.check(form, headers + [("--each-from", each.list)])
        if queue.isWanted { return try await enqueue(console, json) }
        try queue.checkUnused()
        let words = CommandWords.all
        if each.isWanted {
            let plan = try EachPlan(self, arguments: words)
            console.hide(plan.post.secrets)
            if output.isDryRun { return try await plan.dryRun(output, console, json) }
            return try await EachRun(plan: plan, output: output, console: console, json: json).run()
        }
        try each.checkUnused()
        let target = try ResponseOutputs(output)
        let plan = try PostPlan(self, arguments: words)
        console.hide(plan.secrets)
        if output.isDryRun { return try await plan.dryRun(output, console, json) }
        return try await PostRun(plan: plan, target: target, output: output, console: console, json: json).run()
    }
}
