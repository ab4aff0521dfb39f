import FoundationEssentials
import WaybillMultipart

/// The identity of an upload: two runs with the same subject perform the same upload.
struct ResumeSubject: Sendable, Hashable, Codable {
    /// The endpoint of the store, as configured.
    var endpoint: String
    var bucket: String
    /// The object key; `nil` if the store chooses it.
    var key: String?
    /// The absolute path of the file.
    var path: String
    var size: Int64
    /// The modification time of the file as a Unix time.
    var modifiedSeconds: Int64
    var modifiedNanoseconds: Int64
    /// The status change time (`st_ctim`) of the file. Unlike the modification time, programs can't set it.
    var changedSeconds: Int64
    var changedNanoseconds: Int64
    var device: UInt64
    var inode: UInt64
    var partSize: Int64
    /// The name of the checksum that every part must have, if the upload was begun with one.
    var checksum: String?
    /// A hash of the header fields with which the upload was begun; `nil` in records of earlier versions.
    var options: String?

    init(endpoint: String, bucket: String, key: String?, source: SourceFile, path: String, partSize: Int64) {
        self.endpoint = endpoint
        self.bucket = bucket
        self.key = key
        self.path = path
        size = source.stamp.size
        modifiedSeconds = Int64(source.stamp.modified.seconds)
        modifiedNanoseconds = Int64(source.stamp.modified.nanoseconds)
        changedSeconds = Int64(source.stamp.changed.seconds)
        changedNanoseconds = Int64(source.stamp.changed.nanoseconds)
        device = source.stamp.device
        inode = source.stamp.inode
        self.partSize = partSize
    }

    /// Creates a subject for finding any record of an upload. It does not match any file.
    init(endpoint: String, bucket: String, key: String?, path: String) {
        self.endpoint = endpoint
        self.bucket = bucket
        self.key = key
        self.path = path
        (size, modifiedSeconds, modifiedNanoseconds, changedSeconds, changedNanoseconds) = (-1, 0, 0, 0, 0)
        (device, inode, partSize) = (0, 0, 0)
    }

    /// Clears the device number, for records that must survive a reboot, which can change it. The inode number and the
    /// times remain.
    mutating func clearDevice() { device = 0 }

    /// The part of the identity that does not change with the file, so that a new file at the same path finds the old
    /// record and discards it.
    var locationKey: String {
        // Length prefixes keep the concatenation unambiguous.
        [endpoint, bucket, key ?? "", key == nil ? "-" : "+", path].map { "\($0.utf8.count):\($0)" }.joined()
    }

    /// Returns a readable description of the first difference from `now`; `nil` if they are equal.
    func difference(from now: ResumeSubject) -> String? {
        if locationKey != now.locationKey { return "the record is for another file or another object" }
        if size != now.size { return "the size of the file changed from \(size) to \(now.size) bytes" }
        if inode != now.inode || device != now.device { return "the path refers to another file" }
        if (modifiedSeconds, modifiedNanoseconds) != (now.modifiedSeconds, now.modifiedNanoseconds) {
            return "the file was modified"
        }
        if (changedSeconds, changedNanoseconds) != (now.changedSeconds, now.changedNanoseconds) {
            return "the file was modified or renamed, or its times were set"
        }
        if partSize != now.partSize {
            return "the part size is \(partSize) bytes in the record, but \(now.partSize) in the configuration"
        }
        if checksum != now.checksum { return "the parts have another checksum in the configuration" }
        if let options, let other = now.options, options != other { return "the options of the object changed" }
        return nil
    }
}

/// The state of a multipart upload, for resuming it in another process. It contains no key, token or signature.
struct ResumeRecord: Sendable, Hashable, Codable {
    var subject: ResumeSubject
    /// The store's ID of the upload. It must not be printed: anyone who has it and access to the bucket can modify the
    /// upload.
    var uploadID: String
    /// The Unix time in seconds at which the store discards the upload; `nil` if the store does not report it.
    var expires: Int64?
    /// The parts that the store has accepted.
    var parts: [PartReceipt] = []
    /// Additional values of a store's protocol.
    var notes: [String: String] = [:]

    init(subject: ResumeSubject, uploadID: String) {
        self.subject = subject
        self.uploadID = uploadID
    }
}

extension ResumeRecord: RedactedDescription {
    /// The number of parts, without the ID.
    var description: String { "record of \(parts.count) parts" }
}

/// The result of reading a record file.
enum LoadedRecord: Sendable, Hashable {
    /// There is no record.
    case none
    /// The upload can be resumed.
    case usable(ResumeRecord)
    /// The record can't be used, with the reason, and the record if it could be read.
    case unusable(String, ResumeRecord?)
}

extension ResumeRecord {
    private struct File: Codable {
        var format: String
        var version: Int
        var checksum: String
        var record: ResumeRecord
    }

    private struct Kind: Decodable {
        var format: String
        var version: Int
    }

    private static let format = "waybill-resume"
    private static let version = 1

    /// Returns the file content: JSON with a version, and a checksum of the record's JSON with sorted keys.
    func encoded() throws(StoreError) -> [UInt8] {
        do {
            let file = File(
                format: Self.format, version: Self.version, checksum: try Self.checksum(of: self), record: self)
            return Array(try Self.encoder.encode(file))
        } catch {
            throw StoreError(.recordDirectoryUnusable, "The record can't be encoded as JSON.", cause: error)
        }
    }

    /// Parses the content of a record file for an upload of `subject` at a Unix time in seconds.
    static func read(_ bytes: [UInt8], for subject: ResumeSubject, at now: Int64) -> LoadedRecord {
        let data = Data(bytes)
        guard let kind = try? JSONDecoder().decode(Kind.self, from: data), kind.format == format else {
            return .unusable("the record is corrupt, or not a record", nil)
        }
        guard kind.version == version else { return .unusable("the record has version \(kind.version)", nil) }
        guard let file = try? JSONDecoder().decode(File.self, from: data),
            (try? checksum(of: file.record)) == file.checksum
        else { return .unusable("the checksum of the record is wrong", nil) }
        if let difference = file.record.subject.difference(from: subject) {
            return .unusable(difference, file.record)
        }
        if let expires = file.record.expires, expires <= now {
            return .unusable("the upload has expired at the store", nil)
        }
        return .usable(file.record)
    }

    private static func checksum(of record: ResumeRecord) throws -> String {
        String(CRC(.ecma, of: try encoder.encode(record)).value, radix: 16)
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
