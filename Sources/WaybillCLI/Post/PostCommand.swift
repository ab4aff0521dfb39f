import ArgumentParser
import Waybill

/// `waybill post`: sends a form, with the same short options as curl.
struct PostCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "post",
        abstract: "Sends a form and prints the server's response.",
        discussion: """
            The response is written to standard output, everything else to standard error. Short options are the same \
            as in curl; a response with a status of 300 or above gives exit status 1. A text is sent byte for byte, as \
            by curl, including the line break at the end of a file.

            FORM:
              -F 'name=value'            a text; as in curl, spaces around it are removed
              -F 'name="a;b"'            a text with a ; in it, in double quotes
              -F 'name=<token.txt'       a text from a file, never printed; <- is
                                         standard input
              -F 'name=env:TOKEN'        a text from the environment, never printed
              -F 'name=credential:NAME'  with --queue, a text stored only by name
              -F 'name=@card.jpg'        a file; @a,b sends two under one name
              -F 'name=@-;filename=a.tar'  standard input, as a file; FIFOs
                                         and <(…) of the shell work, too
              -F 'name=@card.jpg;type=image/jpeg;filename=front.jpg'
              --form-string 'name=@x'    a text, unchanged

            Values on the command line can be read by every user of the machine with ps. For secrets use < or env:, \
            and -H @file. Standard input and pipes are copied to a temporary file first, so that their length is known \
            and a retry can send them again. File names are sent byte for byte, in any encoding.

            MANY FILES:
            With --each the form is sent once per file. In the path of -F and in its filename=, {} is replaced by the \
            path of the file, {name} for its name without directory and extension, {folder} for its directory. A file \
            that fails does not affect the others unless --fail-early is given; the exit status is that of the first \
            file, in order, that failed. --each-from reads the names from a list, one per line, or with -0 terminated \
            by NUL bytes; empty lines are skipped, and all other characters are part of the name. Responses are not \
            printed: -o 'PATTERN' with {name} writes each to a separate file, and --json includes them in the object \
            of each file. The summary is last, even after a signal, and counts the files that were never started.

            RESPONSES:
            The body of the response is printed, and with -i its status line and header fields before it; -D writes \
            these to a separate file, as received. Of redirects and interim responses only the final head is written. \
            Without a response, files of -o and -D stay unchanged. In the summary of --json, headers lists the fields; \
            values of cookies, of fields whose names suggest a token or password, and queries of addresses are \
            <redacted> there. With 301 and 302 a server does not say whether to send the form again: --redirect \
            chooses.

            RESUMING:
            With --resumable a form of 1 MiB or more is sent in several requests to a server that supports the IETF draft \
            for resumable uploads. After an interruption it continues with the bytes that the server has stored, in the \
            same command with --retry, or when the command is run again with the same form. auto sends an ordinary \
            request to other servers, and for shorter forms; draft fails there.

            PROGRESS:
            A terminal shows a progress bar. Otherwise a line is printed every --progress-interval (default: 1m), and \
            one for each retry with its reason and delay. With --each, ~ before the total marks an estimate: images \
            count with their limit until they are compressed.

            QUEUEING:
            With --queue nothing is sent. The form is added to the outbox, with its images recompressed and its \
            boundary chosen, and the number of the item is printed; "waybill outbox run" delivers it, even after \
            kill -9 or power loss. Each attempt has the same Idempotency-Key; use --idempotency honored if the server \
            acts only once on each key. No secret is stored: credentials are only named, with --credential and in a form \
            with -F 'name=credential:NAME', and passed to "waybill outbox run". Pass network options (-k, -x, \
            --cacert, --limit-rate, …) to "waybill outbox run", too.

            DRY RUN:
            With --dry-run nothing is sent or stored. The request is printed: its header fields, a secret as \
            <redacted>, each part with its length, an image with its length after recompression, and the limits. A \
            file that is missing or unreadable causes the same error and exit status.

            EXAMPLES:
              waybill post https://backend.example/upload -F 'BUSINESSNO=20240001' \\
                -F 'TOKEN=env:TOKEN' -F 'front=@card.jpg;filename=IDFrontImage.jpg' \\
                --max-bytes front=100KiB
              waybill post https://backend.example/upload -F 'file=@film.mp4' \\
                --resumable auto --retry 10
              waybill post https://backend.example/upload -F 'file=@report.pdf' \\
                -H @headers.txt --retry 3 --json
              waybill post https://backend.example/upload -F 'TOKEN=env:TOKEN' \\
                -F 'FILE=@{};filename={name}.jpg' --max-bytes 100KiB --each photos/*.jpg
              find photos -name '*.jpg' -print0 | waybill post https://backend.example/upload \\
                -F 'FILE=@{}' --each-from - -0
              tar cz notes | waybill post https://backend.example/upload -F 'file=@-;filename=notes.tgz'
              waybill post https://backend.example/upload -F 'TOKEN=credential:backend' \\
                -F 'front=@card.jpg' --max-bytes 100KiB --queue --batch today
              waybill post https://backend.example/upload -F 'TOKEN=env:TOKEN' \\
                -F 'front=@card.jpg' --max-bytes 100KiB --dry-run

            EXIT STATUS:
            \(Exit.table)
            """)

    @Argument(help: "The destination, an absolute http or https URL.")
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
        try await finishing(output.json, isReported: \.isPreflightFailure) { () async throws(CommandFailure) in
            try await post(console, output.json ? JSONOutput(console) : nil)
        }
    }

    private func post(_ console: Console, _ json: JSONOutput?) async throws(CommandFailure) -> Exit {
        let headers = request.header.filter { $0.hasPrefix("@") }.map { ("-H", $0.dropFirst().description) }
        try StandardInput.check(form, headers + [("--each-from", each.list)])
        if queue.isEnabled { return try await enqueue(console, json) }
        try queue.checkUnused()
        let words = CommandWords.all
        if each.isEnabled {
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
