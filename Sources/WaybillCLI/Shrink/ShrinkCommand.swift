import ArgumentParser
import Glibc
import Waybill

/// `waybill shrink`: compresses photos to a limit, without sending them.
struct ShrinkCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "shrink",
        abstract: "Compresses images to a limit in bytes or to a quality.",
        discussion: """
            Each result is a JPEG, upright, never larger than its original in pixels nor, except for tiny ones, than a \
            JPEG original in bytes, and has no metadata: no location, no camera, no thumbnail. It appears only when complete, and replaces nothing unless --force is \
            given. A new file has the permissions of its original without those of the umask, a replaced one keeps its own; only its owner may read a new report. A limit in bytes may scale an image down; --min-side limits how far. Below 600 pixels a warning is \
            printed.

            Several inputs are processed independently, as many concurrently as there are processors (at most four); \
            the exit status is that of the first that failed. In -o, {name} is replaced by the input's name without \
            directory and extension, {folder} by its directory. Missing directories are created. Nothing is done if \
            two results would have the same path.

            A report shows original and result with a slider, with figures and a curve of similarity by size. It loads \
            no external resources; its copies of the originals are reduced to 2048 pixels and have no metadata. It \
            stays below 20 MB: if many images would exceed that, it shows reduced ones with links to the files. A run \
            that produces no image writes no report.

            EXAMPLES:
              waybill shrink card.jpg --max-bytes 100KiB          creates card-waybill.jpg
              waybill shrink photos/*.jpg --max-bytes 100KiB -o 'small/{name}-100k.jpg' --report small/page.html
              waybill shrink card.jpg -o - --quality 50 | wc -c
              waybill shrink page.jpg -o small.jpg --max-bytes 200KB --document

            EXIT STATUS:
            \(Exit.table)
            """)

    @Argument(
        help: ArgumentHelp("JPEG, PNG or WebP files, with --heic also HEIC; - is standard input.", valueName: "input"),
        completion: .file())
    var inputs: [String]

    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")],
        help: ArgumentHelp(
            """
            The output file, with {name} for the input's name; - is standard output. Default: the input's name with \
            the suffix -waybill.jpg.
            """,
            valueName: "file"), completion: .file())
    var output: String?

    @Option(
        name: .customLong("max-bytes"),
        help: ArgumentHelp("The maximum size. 100KB = 100,000; 100K = 100KiB = 102,400.", valueName: "size"))
    var maxBytes: String?

    @Option(
        name: .customLong("quality"),
        help: ArgumentHelp("1 (coarse) to 100 (fine); with --max-bytes the maximum quality.", valueName: "quality"))
    var quality: String?

    @Option(
        name: .customLong("max-pixels"),
        help: ArgumentHelp("The maximum number of pixels, as in 2.4MP or 1600x1200.", valueName: "pixels"))
    var maxPixels: String?

    @Option(
        name: .customLong("max-side"),
        help: ArgumentHelp("The maximum length of the longer side in pixels, as in 1600.", valueName: "pixels"))
    var maxSide: String?

    @Option(
        name: .customLong("min-side"),
        help: ArgumentHelp(
            "With --max-bytes, the minimum length of the longer side in pixels; an image that can't be compressed "
                + "that far fails.",
            valueName: "pixels"))
    var minSide: String?

    @Option(name: .customLong("mode"), help: "The compression effort: draft, fast or best.")
    var mode: ShrinkMode = .best

    @Flag(name: .customLong("document"), help: "Treat photos of paper as pages of text, too; scans are recognized.")
    var isDocument = false

    @Flag(
        name: .customLong("salvage"),
        help: "Compress a damaged sequential JPEG as far as it can be decoded, and print what may be damaged.")
    var salvages = false

    @Flag(name: .customLong("heic"), help: "Accept HEIC photos. heif-convert decodes them in a confined process.")
    var decodesHEIC = false

    @Option(
        name: .customLong("report"),
        help: ArgumentHelp("Write a page that compares originals and results.", valueName: "page.html"),
        completion: .file())
    var report: String?

    @Flag(name: .customLong("force"), help: "Replace existing outputs and an existing report.")
    var force = false

    @Flag(name: .customLong("json"), help: "Print one JSON object per line on standard output, the summary last.")
    var json = false

    static var manyArguments: [String: ManyArguments<Self>] { ["": .texts(\.inputs)] }

    func run() async throws {
        let json = self.json ? JSONOutput(.standard) : nil
        do throws(CommandFailure) {
            let outcomes = try await shrink(json)
            let summary = ShrinkSummary(outcomes: outcomes, signal: Interrupt.signal)
            if inputs.count > 1 {
                if let json { try json.write("summary", summary.members) } else { Console.standard.line(summary.line) }
            }
            if let failure = summary.failure { throw failure }
        } catch {
            if inputs.count == 1 || error.code == .usage { try? json?.write("summary", error.members) }
            throw error
        }
    }

    private func shrink(_ json: JSONOutput?) async throws(CommandFailure) -> [ShrinkRun.Outcome] {
        let options = try options()
        let jobs = try ShrinkPlan.jobs(inputs, output: output, page: report)
        let isToStandardOutput = jobs.contains { $0.output == "-" }
        guard !isToStandardOutput || json == nil else {
            throw .usage("--json and the image can't both be written to standard output. Name a file with -o.")
        }
        guard !isToStandardOutput || isatty(STDOUT_FILENO) == 0 else {
            throw .usage("The image is not printed to a terminal. Name a file with -o, or use a pipe.")
        }
        let isSingle = jobs.count == 1
        let run = ShrinkRun(jobs: jobs, options: options, replaces: force, page: report)
        return try await run.run { job, outcome throws(CommandFailure) in
            switch outcome {
            case .success(let report):
                if let json {
                    try json.write(isSingle ? "summary" : "picture", report.members)
                } else {
                    Console.standard.line(report.line)
                }
                if let warning = report.warning(options) { Console.standard.line(warning) }
            case .failure(let failure) where !isSingle:
                // A signal is reported once, not for each image.
                if failure.isInterruption { return }
                try json?.write("picture", ["input": job.input] + failure.members)
                Console.standard.failure(failure.message)
            case .failure: break
            }
        }
    }

    private func options() throws(CommandFailure) -> JPEGOptions {
        guard maxBytes != nil || quality != nil || maxPixels != nil || maxSide != nil else {
            throw .usage(
                "A target is required. "
                    + "Pass --max-bytes 100KiB, --quality 50, --max-pixels 2.4MP or --max-side 1600.")
        }
        var options = JPEGOptions(
            mode: mode.value, isDocument: isDocument, onFailure: salvages ? .salvage : .fail,
            heicDecoder: decodesHEIC ? .heifConvert : nil)
        if let maxBytes { options.maxBytes = try SizeArgument.size(maxBytes, for: "--max-bytes") }
        if let quality { options.quality = try SizeArgument.quality(quality, for: "--quality") }
        if let maxPixels { options.maxPixels = try SizeArgument.pixels(maxPixels, for: "--max-pixels") }
        if let maxSide { options.maxSide = try SizeArgument.side(maxSide, for: "--max-side") }
        if let minSide {
            guard maxBytes != nil else { throw SizeArgument.needsMaxBytes }
            options.minSide = try SizeArgument.side(minSide, for: "--min-side")
        }
        return options
    }
}

/// The values of `--mode`.
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
