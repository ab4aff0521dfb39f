import WaybillCore
import Foundation
import HTTPTypes
import Waybill
import WaybillStores

/// The plan of `waybill put`, validated before the first connection.
struct PutPlan: Sendable {
    let target: any PutTarget
    var files: [PutFile]
    /// A line about the skipped files of directories, if any.
    let skipped: String?
    let parallel: Int
    let failsEarly: Bool
    /// The limits of each request.
    let limits: DryRunRequest

    init(_ command: PutCommand, console: Console) throws(CommandFailure) {
        guard (1...256).contains(command.files.parallel) else {
            throw .usage("-j must be between 1 and 256; got \(command.files.parallel).")
        }
        guard let last = command.paths.last, command.paths.count >= 2 else {
            throw .usage("Files and a destination are required. Write waybill put FILE... oss://bucket/key.")
        }
        let destination = try PutDestination(last)
        let scan = try Self.scan(Array(command.paths.dropLast()), to: destination, command.files)
        (files, skipped) = (scan.files, scan.skippedLine)
        (parallel, failsEarly) = (command.files.parallel, command.files.failEarly)
        limits = DryRunRequest(.put, last, [:], try command.uploadOptions().0)
        target = try PutTargets.target(for: destination, command, console: console)
        try Self.check(files, target)
    }

    static func scan(
        _ paths: [String], to destination: PutDestination, _ options: PutFileOptions
    ) throws(CommandFailure) -> PutScan {
        guard options.isRecursive || options.include.isEmpty && options.exclude.isEmpty else {
            throw .usage("--include and --exclude require -r. Add -r, or leave them out.")
        }
        guard !destination.isOneFile || paths.count == 1 && !options.isRecursive else {
            throw .usage("A presigned URL accepts one file. Name one file, and leave -r out.")
        }
        var scan = PutScan(filter: PutFilter(includes: options.include, excludes: options.exclude))
        let key = destination.key
        let isUnder = key.isEmpty || key.utf8.last == UInt8(ascii: "/")
        for path in paths {
            if path == "-" || PipedInput.isStandardInput(path) && PipedInput.isPipe(path) {
                guard paths.count == 1 else {
                    throw .usage("Standard input can't be combined with other files. Leave them out.")
                }
                guard destination.store != .tus else {
                    throw .usage("A tus server needs files with a name and a length. Save standard input to a file.")
                }
                guard destination.isOneFile || !isUnder else {
                    throw .usage(
                        "Standard input has no name for a key. Write the complete key, as in oss://bucket/key."
                    )
                }
                scan.addStandardInput(key: key)
                continue
            }
            if options.isRecursive, try PutScan.isDirectory(path) {
                guard isUnder else { throw Self.needsSlash(destination) }
                // As with rsync: a trailing slash means the contents of the directory, not the directory itself.
                let name = path.utf8.last == UInt8(ascii: "/") ? "" : try Self.name(of: path) + "/"
                try scan.add(directory: path, prefix: key + (name == "./" || name == "../" ? "" : name))
            } else if destination.isOneFile {
                try scan.add(file: path, key: "")
            } else {
                guard isUnder || paths.count == 1 else { throw Self.needsSlash(destination) }
                try scan.add(file: path, key: isUnder ? key + Self.name(of: path) : key)
            }
        }
        try checkKeys(scan.files, destination)
        return scan
    }

    /// Throws if a key is not UTF-8, or that of several files. Stores require UTF-8, but file names may contain other
    /// bytes.
    private static func checkKeys(_ files: [PutFile], _ destination: PutDestination) throws(CommandFailure) {
        guard !destination.isOneFile else { return }
        if let file = files.first(where: { !SystemPath.isUTF8($0.key) }) {
            throw .usage(
                "The key of \(Redaction.quoted(file.path)) is not UTF-8. "
                    + "Pass an explicit key, or exclude the file with --exclude.")
        }
        // A tus server creates a new upload for each file.
        guard destination.store != .tus else { return }
        var paths: [[UInt8]: String] = [:]
        for file in files {
            guard let other = paths.updateValue(file.path, forKey: Array(file.key.utf8)) else { continue }
            throw .usage(
                "\(Redaction.quoted(other)) and \(Redaction.quoted(file.path)) would become the same object. "
                    + "Send them to different destinations.")
        }
    }

    private static func needsSlash(_ destination: PutDestination) -> CommandFailure {
        .usage(
            "Several files would become the object \(Redaction.quoted(destination.key)). End the destination with a "
                + "slash to use it as a prefix.")
    }

    private static func name(of path: String) throws(CommandFailure) -> String {
        guard let name = path.utf8.split(separator: UInt8(ascii: "/")).last else {
            throw .usage(
                "\(Redaction.quoted(path)) has no name for a key. Write the complete key, as in oss://bucket/key.")
        }
        // The number of a descriptor is not a name.
        guard !path.hasPrefix("/dev/fd/"), !path.hasPrefix("/proc/self/fd/") else {
            throw .usage(
                "\(Redaction.quoted(path)) has no name for a key. Write the complete key, as in "
                    + "oss://bucket/key.")
        }
        return String(Substring(name))
    }

    private static func check(_ files: [PutFile], _ target: any PutTarget) throws(CommandFailure) {
        for file in files {
            do throws(StoreError) {
                try target.check(key: file.key)
            } catch {
                throw .usage("\(Redaction.quoted(file.path)): \(error.message.sentence)")
            }
        }
    }
}

/// Creates the target for a destination. Only this type knows all targets.
enum PutTargets {
    static func target(
        for destination: PutDestination, _ command: PutCommand, console: Console
    ) throws(CommandFailure) -> any PutTarget {
        var fields = PostFields()
        for text in command.request.header { try fields.add(text) }
        var (options, secrets) = try command.uploadOptions()
        if let expectContinue = fields.expectContinue { options.transfer.expectContinue = expectContinue }
        console.hide(secrets + fields.secrets)
        try PutOptionTable.check(command, for: destination.store)
        do throws(StoreError) {
            switch destination {
            case .oss(let bucket, _):
                console.hide(["OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN"].compactMap { Environment.value(of: $0) })
                return try ObjectTarget(
                    bucket: bucket, configuration: command.ossConfiguration(options),
                    session: command.session(console, rate: options.transfer.rateLimit),
                    options: command.objectOptions(fields.headers), multipart: command.multipart())
            case .qiniu(let bucket, _):
                console.hide(["QINIU_SECRET_KEY", "QINIU_UPLOAD_TOKEN"].compactMap { Environment.value(of: $0) })
                return try QiniuTarget(
                    bucket: bucket, command, options,
                    session: command.session(console, rate: options.transfer.rateLimit))
            case .s3(let bucket, _):
                console.hide(S3Location.secretVariables.compactMap { Environment.value(of: $0) })
                let configuration = try command.s3Configuration(options)
                return try ObjectTarget(
                    bucket: bucket, configuration: configuration,
                    session: command.session(console, rate: options.transfer.rateLimit),
                    options: command.s3ObjectOptions(fields.headers),
                    multipart: command.multipart(partSizeFrom: configuration.profile.minimumPartSize))
            case .tus(let url):
                return try TusTarget(
                    url, headers: fields.headers, metadata: command.object.tusMetadata(),
                    session: command.session(console, rate: options.transfer.rateLimit), options: options,
                    resume: command.resumeOptions())
            case .presigned(let url):
                console.hide(Self.secrets(ofQueryIn: url))
                return try PresignedTarget(
                    url, headers: fields.headers, session: command.session(console, rate: nil), options: options)
            }
        } catch {
            throw .usage(error.message.sentence)
        }
    }

    /// Returns a presigned query and its longer values, encoded and decoded: a rejection may quote the signed data.
    static func secrets(ofQueryIn url: String) -> [String] {
        guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        let query = String(url[url.utf8.index(after: mark)...])
        let values = query.utf8.split(separator: UInt8(ascii: "&")).compactMap { pair in
            pair.firstIndex(of: UInt8(ascii: "=")).map { String(Substring(pair[pair.index(after: $0)...])) }
        }
        // Short values are numbers and versions, which match everywhere; redacting them protects nothing.
        return [query] + values.flatMap { [$0, $0.removingPercentEncoding ?? $0] }.filter { $0.utf8.count >= 16 }
    }
}
