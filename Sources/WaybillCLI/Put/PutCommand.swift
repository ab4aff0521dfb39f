import ArgumentParser
import Waybill

/// `waybill put`: sends files to an object store.
struct PutCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Uploads files to an object store and prints their URLs.",
        discussion: """
            DESTINATION:
              oss://bucket/key           one file, as this object
              oss://bucket/prefix/       files under this prefix, by their own names
              oss://bucket               files by their own names
              qiniu://bucket/key         the same three forms for Qiniu
              s3://bucket/key            the same three forms for Amazon S3 and compatible stores
              tus+https://host/path      files to a tus server, which chooses the URL of each
              https://…?…                one file to a presigned URL; pass its signed header fields with -H

            Large files are sent in parts. A stopped command resumes when it is run again: parts that the store \
            already has are not sent again. A file that has changed meanwhile is sent from the start.

            - is standard input, which requires a complete key. It is copied to a temporary file first, because a \
            store requires the length, and so are FIFOs and <(…) of the shell; such an upload is not resumed.

            DIRECTORIES:
            With -r a directory is sent with all its files: "photos" under prefix/photos/, "photos/" under prefix/. \
            Links in it are not followed. --include and --exclude take patterns of the shell; one with a slash is \
            matched against the path below the directory, one without against the last component. Keys are UTF-8; a \
            file whose name is not requires an explicit key. --dry-run prints what would be sent, and sends nothing.

            KEYS are read from the environment only, so that ps does not show them:
              OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET, OSS_SESSION_TOKEN for temporary ones; OSS_ENDPOINT, OSS_REGION
            unless --endpoint or --region is given.
              QINIU_ACCESS_KEY and QINIU_SECRET_KEY, or a token in QINIU_UPLOAD_TOKEN; QINIU_UP_HOST unless --up-host \
              is given.
              AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN for temporary ones, or what else the aws \
              command uses: a web identity, the profile AWS_PROFILE, a container or an instance; AWS_ENDPOINT_URL_S3 \
              or AWS_ENDPOINT_URL, AWS_REGION or AWS_DEFAULT_REGION, unless --endpoint or --region is given.
            A presigned URL needs none, but is visible in ps: @file reads it from a file.

            S3:
            --profile names the store, which determines the form of its URLs, its limits and its checksums: \
            \(S3Location.profileNames). --forbid-overwrite sends If-None-Match, which aws, r2 and rustfs check.

            PROGRESS:
            A terminal shows a progress bar. Otherwise a line is printed every --progress-interval (default: 1m), and \
            one for each retry with its reason and delay.

            QUEUEING:
            With --queue nothing is sent: each file becomes an item of the outbox, whose number is printed, and \
            "waybill outbox run" delivers it, with the account of its own environment or the one of --credential. A \
            presigned URL is stored with the item; after its expiration the item fails.

            EXAMPLES:
              waybill put scan.pdf oss://cards/2026/scan.pdf --region cn-hangzhou
              tar cz notes | waybill put - oss://cards/2026/notes.tgz --region cn-hangzhou
              waybill put -r -j 8 --exclude '*.tmp' photos oss://cards/2026/
              waybill put -r -j 3 photos/ qiniu://photos/2026/
              waybill put -r photos s3://photos/2026/ --profile r2 --endpoint https://ACCOUNT.r2.cloudflarestorage.com
              waybill put front.jpg @url.txt -H 'Content-Type: image/jpeg'
              waybill put -r videos/ tus+https://files.example/uploads -H @token.txt
              waybill put -r photos oss://cards/2026/ --region cn-hangzhou --queue --batch today
              waybill put -r photos oss://cards/2026/ --region cn-hangzhou --dry-run

            EXIT STATUS:
            \(Exit.table)
            """)

    @Argument(
        help: ArgumentHelp("The files, followed by the destination.", valueName: "file ... destination"),
        completion: .file())
    var paths: [String] = []

    @OptionGroup(title: "Files") var files: PutFileOptions
    @OptionGroup(title: "Store") var store: PutStoreOptions
    @OptionGroup(title: "Object") var object: PutObjectOptions
    @OptionGroup(title: "Request") var request: PutRequestOptions
    @OptionGroup(title: "Network") var network: NetworkOptions
    @OptionGroup(title: "Time and rate") var limits: LimitOptions
    @OptionGroup(title: "Queueing") var queue: QueueOptions
    @OptionGroup(title: "Output") var output: PutOutputOptions

    static var manyArguments: [String: ManyArguments<Self>] {
        ["": .texts(\.paths), "header": .texts(\.request.header)]
    }

    func run() async throws {
        let console = Console.standard
        try await finishing(output.json, isReported: \.isPreflightFailure) { () async throws(CommandFailure) in
            try await put(console, output.json ? JSONOutput(console) : nil)
        }
    }

    private func put(_ console: Console, _ json: JSONOutput?) async throws(CommandFailure) -> Exit {
        var command = self
        command.paths =
            try paths.last.map { (last) throws(CommandFailure) in
                paths.dropLast() + [try Self.destination(last)]
            } ?? []
        if queue.isEnabled { return try await command.enqueue(console, json) }
        try queue.checkUnused()
        var plan = try PutPlan(command, console: console)
        if !files.isDryRun { plan.files = try await plan.files.withCopiesOfPipes() }
        let run = PutRun(plan: plan, output: output, console: console, json: json)
        return files.isDryRun ? try await run.dryRun() : try await run.run()
    }

    /// Returns the destination, which may be the only line of a file.
    private static func destination(_ text: String) throws(CommandFailure) -> String {
        guard text.hasPrefix("@") else { return text }
        let bytes = try InputFile.read(String(text.dropFirst()), limit: 64 << 10, for: "The destination")
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard lines.count == 1, let line = lines.first else {
            throw .usage("The file of the destination has \(lines.count) lines. It must have exactly one.")
        }
        return String(line)
    }
}
