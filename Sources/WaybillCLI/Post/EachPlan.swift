import Waybill

/// The plan of `waybill post --each`, validated and with all its texts read before the first connection.
///
/// Texts are read once and shared by all forms. The files of `--each` are not opened: a missing file fails only its own
/// upload.
struct EachPlan: Sendable {
    private enum Piece: Sendable {
        /// Parts that are the same for all files.
        case parts([MultipartPart])
        /// A text part whose file name depends on the file.
        case named([MultipartPart], EachPattern)
        case files(FormArgument)
    }

    /// The plan of the first upload, whose options apply to all.
    let post: PostPlan
    let files: [String]
    let options: EachOptions
    /// The output path of responses, if requested.
    let bodyOutput: OutputPattern?
    /// The output path of response heads, if requested.
    let headOutput: OutputPattern?
    /// Whether the head is written before the body.
    let includesHead: Bool
    /// The log of the forms' images.
    let images: ImageLog
    private let pieces: [Piece]
    private let imageSettings: ImageSettings

    /// Validates and reads. `words` are the words of the command line, for the order of `-F` and `--form-string`.
    init(_ command: PostCommand, arguments words: [String]) throws(CommandFailure) {
        try command.each.check()
        (options, files) = (command.each, try command.each.all())
        images = ImageLog(command.output)
        let arguments = try FormAssembly.arguments(command.form, inOrderOf: words)
        guard arguments.contains(where: \.sendsEach) else {
            throw .usage("--each: no -F sends the files. Write {} for their paths, as in -F 'FILE=@{}'.")
        }
        let imageSettings = try ImageSettings(command.form, log: images)
        var shared = FormAssembly(isQueued: command.queue.isEnabled)
        var pieces: [Piece] = []
        for argument in arguments { pieces.append(try Self.piece(argument, imageSettings, &shared)) }
        (self.pieces, self.imageSettings) = (pieces, imageSettings)
        var sent = shared.files
        for file in files { sent += try Self.form(of: pieces, file, imageSettings, findsPipes: false).files }
        // With a file list, an image setting that matches nothing is not an error: the list may contain no JPEGs this
        // time.
        try imageSettings.checkUse(by: sent, isComplete: command.each.list == nil)
        // Only the shared text parts can contain secrets, so only those are merged.
        var first = try Self.form(of: pieces, files.first ?? "", imageSettings, findsPipes: false)
        first.addSecrets(of: shared)
        post = try PostPlan(command, form: first, images: images)
        let (output, head) = (command.output.output, command.output.head)
        try head.check(output: output, isJSON: command.output.json, isEach: true)
        bodyOutput = try Self.pattern(output, "-o", files)
        headOutput = try Self.pattern(head.dump, "-D", files)
        includesHead = head.isIncluded
        try Self.check([bodyOutput, headOutput].compactMap(\.self), files)
    }

    /// Returns the upload of a file.
    func request(for file: String) throws(CommandFailure) -> UploadRequest {
        var request = post.request
        request.content = .form(try form(for: file))
        return request
    }

    /// Returns the form of a file.
    func form(for file: String) throws(CommandFailure) -> MultipartForm {
        MultipartForm(try Self.form(of: pieces, file, imageSettings).parts)
    }

    /// Returns the configuration of the session, with enough slots for `--parallel`. A rate limit applies to all
    /// uploads together.
    func configuration(output: OutputOptions, console: Console) -> UploadSession.Configuration {
        var configuration = post.configuration(output: output, console: console)
        configuration.rateLimit = post.request.options?.transfer.rateLimit
        if let parallel = options.parallel {
            configuration.maximumConcurrentTransfers = parallel
            configuration.maximumConcurrentTransfersPerHost = parallel
        }
        return configuration
    }

    private static func piece(
        _ argument: FormArgument, _ imageSettings: ImageSettings, _ shared: inout FormAssembly
    ) throws(CommandFailure) -> Piece {
        if case .textFile(let path) = argument.source, EachPattern(path).hasPlaceholder {
            throw .usage(
                "-F \(Redaction.quoted(argument.name)): {} is not allowed after \"<\", because the text is shared by "
                    + "all files. Send the file itself with @.")
        }
        // A pipe can be read only once, so all forms share its copy. All other files are added to each form, even if
        // they are the same for all, because each form reports its own images.
        if case .files(let files) = argument.source {
            let isPiped = files.contains { $0.isStandardInput || PipedInput.isPipe($0.path) }
            if !isPiped || argument.patterns.contains(where: \.hasPlaceholder) { return .files(argument) }
        }
        let count = shared.parts.count
        try shared.add(argument, imageSettings: imageSettings, environment: Environment.value)
        let parts = Array(shared.parts[count...])
        if let name = argument.fileName.map(EachPattern.init), name.hasPlaceholder { return .named(parts, name) }
        return .parts(parts)
    }

    private static func form(
        of pieces: [Piece], _ file: String, _ imageSettings: ImageSettings, findsPipes: Bool = true
    ) throws(CommandFailure) -> FormAssembly {
        var form = FormAssembly(file: file, findsPipes: findsPipes)
        for piece in pieces {
            switch piece {
            case .parts(let parts): form.append(parts)
            case .named(let parts, let name):
                form.append(
                    parts.map { part in
                        var part = part
                        part.fileName = name.expanded(for: file)
                        return part
                    })
            case .files(let argument):
                try form.add(argument.expanded(for: file), imageSettings: imageSettings, environment: Environment.value)
            }
        }
        return form
    }

    /// Returns the pattern of `-o` or `-D`, whose result must differ from file to file.
    private static func pattern(
        _ text: String?, _ option: String, _ files: [String]
    ) throws(CommandFailure) -> OutputPattern? {
        guard let text else { return nil }
        let pattern = OutputPattern(text: text)
        guard pattern.hasPlaceholder else {
            throw .usage(
                "\(option): all responses would be written to \(Redaction.quoted(text)). Write {name} for "
                    + "the names of the files, as in \(option) 'responses/{name}.json'.")
        }
        for file in files {
            let path = ShrinkPlan.canonicalPath(of: pattern.path(for: file))
            guard path != ShrinkPlan.canonicalPath(of: file), path != ShrinkPlan.resolvedPath(of: file) else {
                throw .usage(
                    "\(option): the response would overwrite \(Redaction.quoted(file)). Choose another pattern.")
            }
        }
        return pattern
    }

    /// Checks that all paths differ, that none of them is an input file, and that files can be created there.
    private static func check(_ patterns: [OutputPattern], _ files: [String]) throws(CommandFailure) {
        let jobs = patterns.flatMap { pattern in
            files.map { ShrinkJob(input: $0, output: pattern.path(for: $0)) }
        }
        try ShrinkPlan.check(jobs, nil)
        var directories: Set<String> = []
        for job in jobs {
            let path = ShrinkPlan.canonicalPath(of: job.output)
            let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? path
            // Opened and closed, so that an unwritable directory is reported before anything is sent.
            if directories.insert(directory).inserted { _ = try OutputFile(job.output, replaces: true) }
        }
    }
}
