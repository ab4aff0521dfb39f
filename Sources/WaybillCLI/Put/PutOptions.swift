import ArgumentParser
import Waybill
import WaybillStores

/// The options that select files.
struct PutFileOptions: ParsableArguments {
    @Flag(name: [.customShort("r"), .customLong("recursive")], help: "Send directories with all their files.")
    var isRecursive = false

    @Option(
        name: [.customShort("j", allowingJoined: true), .customLong("parallel")],
        help: ArgumentHelp("The maximum number of concurrent uploads.", valueName: "number"))
    var parallel = 5

    @Option(
        name: .customLong("include"),
        help: ArgumentHelp("With -r, send only files that match; may be repeated.", valueName: "pattern"))
    var include: [String] = []

    @Option(
        name: .customLong("exclude"),
        help: ArgumentHelp("With -r, exclude matching files and directories; may be repeated.", valueName: "pattern"))
    var exclude: [String] = []

    @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Print what would be sent where, and send nothing.")
    var isDryRun = false

    @Flag(
        name: .customLong("skip-same"),
        help: "Do not send a file if the store has an object with the same size and checksum.")
    var skipsSame = false

    @Flag(name: .customLong("fail-early"), help: "Stop at the first failure and cancel the other uploads.")
    var failEarly = false
}

/// The options of the store and of uploads in parts.
struct PutStoreOptions: ParsableArguments {
    @Option(
        name: .customLong("endpoint"),
        help: ArgumentHelp(
            "The endpoint, without the bucket. Default: OSS_ENDPOINT, with s3:// AWS_ENDPOINT_URL; else from the region.",
            valueName: "url"))
    var endpoint: String?

    @Option(
        name: .customLong("up-host"),
        help: ArgumentHelp(
            "With qiniu://, the upload host; may be repeated. Default: QINIU_UP_HOST, or as Qiniu reports.",
            valueName: "host"))
    var upHosts: [String] = []

    @Option(
        name: .customLong("rs-host"),
        help: ArgumentHelp(
            "With qiniu:// and --skip-same, the host that knows the objects. Default: QINIU_RS_HOST, or Qiniu's.",
            valueName: "host"))
    var resourceHost: String?

    @Option(
        name: .customLong("region"),
        help: ArgumentHelp(
            "The region, such as cn-hangzhou. Default: OSS_REGION, or from the endpoint; with s3://, AWS_REGION.",
            valueName: "id"))
    var region: String?

    @Option(
        name: .customLong("profile"),
        help: ArgumentHelp(
            "With s3://, the store: \(S3Location.profileNames). Default: aws, or generic with an endpoint.",
            valueName: "store"),
        completion: .list(S3Location.profiles.map(\.name)))
    var profile: String?

    @Option(
        name: .customLong("sign-version"),
        help: ArgumentHelp("The signature version: v1 or v4. Default: v4 if the region is known.", valueName: "version")
    )
    var signVersion: String?

    @Flag(name: .customLong("allow-http"), help: "Accept an http:// endpoint: an eavesdropper can read the objects.")
    var allowsHTTP = false

    @Flag(name: .customLong("no-resume"), help: "Do not store or use resume records.")
    var doesNotResume = false

    @Option(
        name: .customLong("records"),
        help: ArgumentHelp(
            "The directory of resume records. Default: ~/.local/state/waybill/uploads.", valueName: "directory"),
        completion: .directory)
    var records: String?

    @Option(
        name: .customLong("part-size"),
        help: ArgumentHelp("The size of parts. Default: 6MiB; with s3://, 8MiB.", valueName: "size"))
    var partSize: String?

    @Option(
        name: .customLong("parts-at-once"),
        help: ArgumentHelp(
            "The maximum number of concurrent parts per file. Default: 5; with tus+, 1, and at most 16.",
            valueName: "number"))
    var partsAtOnce: Int?

    @Option(
        name: .customLong("checksum"),
        help: ArgumentHelp(
            "With s3://, a checksum to send in advance: \(Self.checksums). Each file is read once more.",
            valueName: "type"),
        completion: .list(S3Checksum.allCases.map(\.rawValue)))
    var checksum: String?

    private static let checksums = S3Checksum.allCases.map(\.rawValue).joined(separator: ", ")

    /// Returns the part size, which must be at least the minimum of the store.
    func checkedPartSize(from minimum: ByteCount) throws(StoreError) -> ByteCount? {
        guard let partSize else { return nil }
        guard let size = ByteCount(partSize), size >= minimum else {
            throw StoreError(.invalidArgument, "--part-size must be at least \(minimum), as in 6MiB.")
        }
        return size
    }

    func checkedPartsAtOnce() throws(StoreError) -> Int? {
        if let partsAtOnce, !(1...256).contains(partsAtOnce) {
            throw StoreError(.invalidArgument, "--parts-at-once must be between 1 and 256; got \(partsAtOnce).")
        }
        return partsAtOnce
    }
}

/// The options of objects.
struct PutObjectOptions: ParsableArguments {
    @Option(
        name: .customLong("content-type"),
        help: ArgumentHelp("The content type. Default: from the extension of the key.", valueName: "type"))
    var contentType: String?

    @Option(
        name: .customLong("meta"),
        help: ArgumentHelp("User-defined metadata; may be repeated.", valueName: "name=value"))
    var metadata: [String] = []

    @Option(
        name: .customLong("acl"),
        help: ArgumentHelp(
            "private, public-read or public-read-write; with s3://, any canned ACL. Default: the bucket's setting.",
            valueName: "access"))
    var access: String?

    @Option(
        name: .customLong("storage-class"),
        help: ArgumentHelp(
            "Standard, IA, Archive, ColdArchive or DeepColdArchive; with s3://, a name such as STANDARD_IA.",
            valueName: "class"))
    var storageClass: String?

    @Flag(name: .customLong("forbid-overwrite"), help: "Fail if an object with this key exists.")
    var forbidsOverwrite = false

    /// Returns the metadata of every upload to a tus server.
    func tusMetadata() throws(StoreError) -> [String: String] {
        var fields = try metadataFields()
        if let contentType { fields["filetype"] = contentType }
        return fields
    }

    /// Returns the names and values of `--meta`.
    func metadataFields() throws(StoreError) -> [String: String] {
        var fields: [String: String] = [:]
        for text in metadata {
            guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")), equals > text.startIndex else {
                throw StoreError(.invalidArgument, "--meta must be name=value.")
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
        help: ArgumentHelp("A header field, or @file with one per line. Never printed.", valueName: "name: value|@file")
    )
    var header: [String] = []

    @Flag(
        name: [.customShort("k"), .customLong("insecure")],
        help: "Accept any certificate. Only with presigned URLs and tus servers, for test environments.")
    var insecure = false
}

/// The options of the output.
struct PutOutputOptions: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Print one JSON object per line on standard output, the summary last.")
    var json = false

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print the events of the transfers.")
    var verbose = false

    @Flag(
        name: [.customShort("q"), .customShort("s"), .customLong("silent")], help: "Print only URLs and errors.")
    var silent = false

    @OptionGroup var progress: ProgressOptions
}
