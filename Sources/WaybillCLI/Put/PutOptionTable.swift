/// The kinds of destinations of `put`.
enum PutStore: Sendable {
    case oss, qiniu, s3, tus, presigned

    /// The kind as it appears in messages.
    var name: String {
        switch self {
        case .oss: "OSS"
        case .qiniu: "Qiniu"
        case .s3: "S3"
        case .tus: "a tus server"
        case .presigned: "a presigned URL"
        }
    }
}

/// The options that only some destinations support. For any other destination such an option is an error on the command
/// line, and ignored in the settings.
enum PutOptionTable {
    struct Row: Sendable {
        /// The long name of the option.
        var name: String
        /// The destinations that support it.
        var stores: Set<PutStore>
        var isGiven: @Sendable (PutCommand) -> Bool
    }

    static let rows = [
        Row(name: "endpoint", stores: [.oss, .s3]) { $0.store.endpoint != nil },
        Row(name: "region", stores: [.oss, .s3]) { $0.store.region != nil },
        Row(name: "profile", stores: [.s3]) { $0.store.profile != nil },
        Row(name: "sign-version", stores: [.oss]) { $0.store.signVersion != nil },
        Row(name: "acl", stores: [.oss, .s3]) { $0.object.access != nil },
        Row(name: "storage-class", stores: [.oss, .s3]) { $0.object.storageClass != nil },
        Row(name: "up-host", stores: [.qiniu]) { !$0.store.upHosts.isEmpty },
        Row(name: "rs-host", stores: [.qiniu]) { $0.store.resourceHost != nil },
        Row(name: "skip-same", stores: [.oss, .qiniu, .s3]) { $0.files.skipsSame },
        Row(name: "forbid-overwrite", stores: [.oss, .qiniu, .s3]) { $0.object.forbidsOverwrite },
        Row(name: "part-size", stores: [.oss, .qiniu, .s3]) { $0.store.partSize != nil },
        Row(name: "parts-at-once", stores: [.oss, .qiniu, .s3, .tus]) { $0.store.partsAtOnce != nil },
        Row(name: "checksum", stores: [.s3]) { $0.store.checksum != nil },
        Row(name: "content-type", stores: [.oss, .qiniu, .s3, .tus]) { $0.object.contentType != nil },
        Row(name: "meta", stores: [.oss, .qiniu, .s3, .tus]) { !$0.object.metadata.isEmpty },
        Row(name: "records", stores: [.oss, .qiniu, .s3, .tus]) { $0.store.records != nil },
        Row(name: "no-resume", stores: [.oss, .qiniu, .s3, .tus]) { $0.store.doesNotResume },
        Row(name: "header", stores: [.oss, .s3, .presigned, .tus]) { !$0.request.header.isEmpty },
        Row(name: "redirect", stores: [.presigned, .tus]) { $0.network.redirect != nil },
        Row(name: "location-trusted", stores: [.presigned, .tus]) { $0.network.isLocationTrusted },
    ]

    /// Throws for an option that does not apply to the destination.
    static func check(_ command: PutCommand, for store: PutStore) throws(CommandFailure) {
        for row in rows where !row.stores.contains(store) && row.isGiven(command) {
            throw .usage("--\(row.name) does not apply to \(store.name). Leave it out.")
        }
    }
}
