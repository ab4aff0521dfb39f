import ArgumentParser
import Glibc
import Waybill

/// `waybill shrink`: makes a photo fit, without sending it.
struct ShrinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shrink",
        abstract: "Makes a JPEG fit under a limit in bytes, or gives it a quality.",
        discussion: """
            The result is upright, never larger than the original in bytes or pixels, and has no metadata: no place, no \
            camera, no thumbnail. It appears whole or not at all.

            EXAMPLES:
              waybill shrink card.jpg --max-bytes 100KiB          makes card-waybill.jpg
              waybill shrink card.jpg -o - --quality 50 | wc -c
              waybill shrink page.jpg -o small.jpg --max-bytes 200KB --document

            EXIT STATUS:
            \(Exit.table)
            """)

    @Argument(help: "A JPEG file; - is standard input.")
    var input: String

    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")],
        help: ArgumentHelp(
            "The file to make; - is standard output. Unless set, the input with the ending -waybill.jpg.",
            valueName: "file"))
    var output: String?

    @Option(
        name: .customLong("max-bytes"),
        help: ArgumentHelp("The most bytes. 100KB = 100,000; 100K = 100KiB = 102,400.", valueName: "size"))
    var maxBytes: String?

    @Option(
        name: .customLong("quality"),
        help: ArgumentHelp("1 (coarse) to 100 (fine); with --max-bytes the finest that is used.", valueName: "quality"))
    var quality: String?

    @Option(
        name: .customLong("max-pixels"),
        help: ArgumentHelp("The most pixels, as in 2.4MP or 1600x1200.", valueName: "pixels"))
    var maxPixels: String?

    @Option(name: .customLong("mode"), help: "How much work goes into the last bit of quality: draft, fast or best.")
    var mode: ShrinkMode = .best

    @Flag(name: .customLong("document"), help: "Thin dark text on white paper matters most.")
    var isDocument = false

    @Flag(name: .customLong("force"), help: "Replace the output if it is there.")
    var force = false

    @Flag(name: .customLong("json"), help: "Print a JSON object on standard output.")
    var json = false

    func run() async throws {
        let json = self.json ? JSONOutput(.standard) : nil
        do throws(CommandFailure) {
            let report = try await shrink()
            if let json { try json.write("summary", report.members) } else { Console.standard.line(report.line) }
        } catch {
            try? json?.write("summary", PostReport.members(of: error))
            throw error
        }
    }

    private func shrink() async throws(CommandFailure) -> ShrinkReport {
        let options = try options()
        let target = output ?? (input == "-" ? "-" : ShrinkReport.defaultName(for: input))
        guard target != "-" || !json else {
            throw .usage("--json and the picture can't both go to standard output. Name a file with -o.")
        }
        guard target != "-" || isatty(STDOUT_FILENO) == 0 else {
            throw .usage("A picture is nothing for a terminal. Name a file with -o, or send it on through a pipe.")
        }
        // Made before the work, which may take seconds, so that a wrong name is known at once.
        let file = target == "-" ? nil : try NewFile(target, replaces: force, mode: Self.mode(like: input))
        let result = try await Self.recompress(input, options)
        if let file { try file.commit(result.bytes) } else { try StandardOutput.write(result.bytes) }
        return ShrinkReport(input: input, output: target, picture: result.report)
    }

    private func options() throws(CommandFailure) -> JPEGOptions {
        guard maxBytes != nil || quality != nil || maxPixels != nil else {
            throw .usage("Say what it has to become: --max-bytes 100KiB, --quality 50 or --max-pixels 2.4MP.")
        }
        var options = JPEGOptions(mode: mode.value, isDocument: isDocument)
        if let maxBytes { options.maxBytes = try SizeArgument.size(maxBytes, for: "--max-bytes") }
        if let quality { options.quality = try SizeArgument.quality(quality, for: "--quality") }
        if let maxPixels { options.maxPixels = try SizeArgument.pixels(maxPixels, for: "--max-pixels") }
        return options
    }

    private static func recompress(_ input: String, _ options: JPEGOptions) async throws(CommandFailure) -> JPEGResult {
        let recompressor = JPEGRecompressor(options)
        let piped = input == "-" ? try InputFile.read("-", limit: largestPicture, for: "the picture") : nil
        Interrupt.arm()
        let work = Task { () async -> Result<JPEGResult, JPEGError> in
            do throws(JPEGError) {
                if let piped { return .success(try await recompressor.recompress(piped)) }
                return .success(try await recompressor.recompress(file: input))
            } catch {
                return .failure(error)
            }
        }
        Interrupt.onFirst { _ in work.cancel() }
        switch await work.value {
        case .success(let result): return result
        case .failure(let error):
            throw CommandFailure(
                code: CommandFailure.Code(error.code.description), exit: Exit(error, signal: Interrupt.signal),
                message: "\"\(Redaction.escaped(input))\": \(error.code): \(error.message)")
        }
    }

    /// The permissions of the original: a private picture stays private, a public one public.
    private static func mode(like path: String) -> mode_t {
        var status = stat()
        guard path != "-", unsafe stat(path, &status) == 0 else { return 0o600 }
        return status.st_mode & 0o666 | 0o600
    }

    /// What the decoder takes at most.
    private static let largestPicture = 40_000_000
}

/// `--mode`.
enum ShrinkMode: String, ExpressibleByArgument, CaseIterable, Sendable {
    case draft
    case fast
    case best

    var value: JPEGOptions.Mode {
        switch self {
        case .draft: .draft
        case .fast: .fast
        case .best: .best
        }
    }
}
