import ArgumentParser
import WaybillStores

/// The options that select files.
struct PutFileOptions: ParsableArguments {
    @Flag(name: [.customShort("r"), .customLong("recursive")], help: "Send folders with all that is in them.")
    var isRecursive = false

    @Option(
        name: [.customShort("j", allowingJoined: true), .customLong("parallel")],
        help: ArgumentHelp("How many files are sent at once.", valueName: "number"))
    var parallel = 5

    @Option(
        name: .customLong("include"),
        help: ArgumentHelp("With -r, send only files that match; may be repeated.", valueName: "pattern"))
    var include: [String] = []

    @Option(
        name: .customLong("exclude"),
        help: ArgumentHelp("With -r, leave out what matches, folders too; may be repeated.", valueName: "pattern"))
    var exclude: [String] = []

    @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Print what would be sent where, and send nothing.")
    var isDryRun = false

    @Flag(name: .customLong("fail-early"), help: "Stop at the first file that fails and cancel the others.")
    var failEarly = false
}

/// The options of the store and of uploads in parts.
struct PutStoreOptions: ParsableArguments {
    @Option(
        name: .customLong("endpoint"),
        help: ArgumentHelp(
            "Where the store is, without the bucket; else OSS_ENDPOINT, or by the region.", valueName: "url"))
    var endpoint: String?

    @Option(
        name: .customLong("up-host"),
        help: ArgumentHelp(
            "With qiniu://, a host to send to, may be repeated; else QINIU_UP_HOST, or as Qiniu says.",
            valueName: "host"))
    var upHosts: [String] = []

    @Option(
        name: .customLong("region"),
        help: ArgumentHelp(
            "The region's id, such as cn-hangzhou; else OSS_REGION, or by the endpoint.", valueName: "id"))
    var region: String?

    @Option(
        name: .customLong("sign-version"),
        help: ArgumentHelp("v1 or v4. v4 unless the region is not known.", valueName: "version"))
    var signVersion: String?

    @Flag(name: .customLong("allow-http"), help: "Accept an http:// endpoint: an eavesdropper can read the objects.")
    var allowsHTTP = false

    @Flag(name: .customLong("no-resume"), help: "Keep no record, and go on from none.")
    var doesNotResume = false

    @Option(
        name: .customLong("records"),
        help: ArgumentHelp(
            "Where the records are kept. ~/.local/state/waybill/uploads unless set.", valueName: "folder"),
        completion: .directory)
    var records: String?

    @Option(
        name: .customLong("part-size"),
        help: ArgumentHelp("The size of parts. 6MiB unless set.", valueName: "size"))
    var partSize: String?

    @Option(
        name: .customLong("parts-at-once"),
        help: ArgumentHelp("How many parts of a file are on their way at once. 5 unless set.", valueName: "number"))
    var partsAtOnce: Int?

    func checkedPartsAtOnce() throws(StoreError) -> Int? {
        if let partsAtOnce, !(1...256).contains(partsAtOnce) {
            throw StoreError(.invalidArgument, "--parts-at-once must be between 1 and 256; got \(partsAtOnce)")
        }
        return partsAtOnce
    }
}

/// The options of objects.
struct PutObjectOptions: ParsableArguments {
    @Option(
        name: .customLong("content-type"),
        help: ArgumentHelp("The content type; told by the ending of the key unless set.", valueName: "type"))
    var contentType: String?

    @Option(
        name: .customLong("meta"),
        help: ArgumentHelp("Metadata of your own; may be repeated.", valueName: "name=value"))
    var metadata: [String] = []

    @Option(
        name: .customLong("acl"),
        help: ArgumentHelp(
            "private, public-read or public-read-write; as the bucket has it unless set.", valueName: "access"))
    var access: String?

    @Option(
        name: .customLong("storage-class"),
        help: ArgumentHelp("Standard, IA, Archive, ColdArchive or DeepColdArchive.", valueName: "class"))
    var storageClass: String?

    @Flag(name: .customLong("forbid-overwrite"), help: "Fail where an object of that key is there already.")
    var forbidsOverwrite = false

    /// Returns the names and values of `--meta`.
    func metadataFields() throws(StoreError) -> [String: String] {
        var fields: [String: String] = [:]
        for text in metadata {
            guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")), equals > text.startIndex else {
                throw StoreError(.invalidArgument, "--meta takes name=value")
            }
            fields[String(text[..<equals])] = String(text[text.utf8.index(after: equals)...])
        }
        return fields
    }
}

/// The options of the request.
struct PutRequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("H", allowingJoined: true), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A header field, or @file with one a line. Never printed.", valueName: "name: value|@file"))
    var header: [String] = []

    @Flag(
        name: [.customShort("k"), .customLong("insecure")],
        help: "Accept any certificate. Not with credentials, only with a presigned URL in a laboratory.")
    var insecure = false
}

/// The options of the output.
struct PutOutputOptions: ParsableArguments {
    @Flag(name: .customLong("json"), help: "One JSON object a line on standard output, the summary last.")
    var json = false

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print the events of the transfers.")
    var verbose = false

    @Flag(
        name: [.customShort("q"), .customShort("s"), .customLong("silent")], help: "Print nothing but URLs and errors.")
    var silent = false

    @OptionGroup var progress: ProgressOptions
}
