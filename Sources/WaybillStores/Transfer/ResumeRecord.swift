import FoundationEssentials
import WaybillMultipart

/// What an upload is of and where it goes: two runs with the same subject are the same upload.
struct ResumeSubject: Sendable, Hashable, Codable {
    /// The store's address, as the client was given it.
    var endpoint: String
    var bucket: String
    /// The object's key; `nil` where the store chooses it.
    var key: String?
    /// The absolute path of the file.
    var path: String
    var size: Int64
    /// The time of the file's last change: seconds and nanoseconds since 1970.
    var modifiedSeconds: Int64
    var modifiedNanoseconds: Int64
    /// The time of the last change of what is known of it. Nobody can set that back, as they can the other.
    var changedSeconds: Int64
    var changedNanoseconds: Int64
    var device: UInt64
    var inode: UInt64
    var partSize: Int64

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

    /// Only the place, to look for whatever record lies there: no file ever looks like this.
    init(endpoint: String, bucket: String, key: String?, path: String) {
        self.endpoint = endpoint
        self.bucket = bucket
        self.key = key
        self.path = path
        (size, modifiedSeconds, modifiedNanoseconds, changedSeconds, changedNanoseconds) = (-1, 0, 0, 0, 0)
        (device, inode, partSize) = (0, 0, 0)
    }

    /// Leaves out the number of the device, which may be another one after the machine was started anew, for records that
    /// outlive that. The file's own number and its times stay.
    mutating func forgetDevice() { device = 0 }

    /// What does not change when the file does, so that a new file at the old place finds, and drops, the old record.
    var place: String {
        // Lengths keep two places apart whose texts run together.
        [endpoint, bucket, key ?? "", key == nil ? "-" : "+", path].map { "\($0.utf8.count):\($0)" }.joined()
    }

    /// How `now` differs, in words for people; `nil` when it is the same.
    func difference(from now: ResumeSubject) -> String? {
        if place != now.place { return "it is of another file or another object" }
        if size != now.size { return "the file had \(size) bytes and has \(now.size)" }
        if inode != now.inode || device != now.device { return "another file lies at the path" }
        if (modifiedSeconds, modifiedNanoseconds) != (now.modifiedSeconds, now.modifiedNanoseconds) {
            return "the file was written to since"
        }
        if (changedSeconds, changedNanoseconds) != (now.changedSeconds, now.changedNanoseconds) {
            return "the file was written to or renamed since, or its times were set"
        }
        if partSize != now.partSize { return "it has parts of \(partSize) bytes, and \(now.partSize) are wanted" }
        return nil
    }
}

/// Where an upload in parts stands, to go on from in another process. It holds no key, no token and no signature.
struct ResumeRecord: Sendable, Hashable, Codable {
    var subject: ResumeSubject
    /// The store's id of the upload. Not to be printed: whoever has it and a right to the bucket can change the upload.
    var uploadID: String
    /// When the store forgets the upload, in seconds since 1970; `nil` where it says nothing of that.
    var expires: Int64?
    /// The parts that the store took.
    var parts: [PartReceipt] = []
    /// What a store's protocol has to remember besides.
    var notes: [String: String] = [:]

    init(subject: ResumeSubject, uploadID: String) {
        self.subject = subject
        self.uploadID = uploadID
    }
}

extension ResumeRecord: CustomStringConvertible, CustomReflectable {
    /// How many parts; not the id.
    var description: String { "record of \(parts.count) parts" }
    /// The description only.
    var customMirror: Mirror { Mirror(self, children: ["record": description]) }
}

/// What a record's file was found to be.
enum FoundRecord: Sendable, Hashable {
    /// There is none.
    case none
    /// It can be gone on from.
    case usable(ResumeRecord)
    /// It is of no use, and why; with the record, where it could be read.
    case useless(String, ResumeRecord?)
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

    /// The bytes of its file: JSON with a version, and a checksum over the record's own JSON with its names in order.
    func encoded() throws -> [UInt8] {
        let file = File(
            format: Self.format, version: Self.version, checksum: try Self.checksum(of: self), record: self)
        return Array(try Self.encoder.encode(file))
    }

    /// What the bytes of a file are, for somebody who wants to upload `subject` at a moment (seconds since 1970).
    static func read(_ bytes: [UInt8], for subject: ResumeSubject, at now: Int64) -> FoundRecord {
        let data = Data(bytes)
        guard let kind = try? JSONDecoder().decode(Kind.self, from: data), kind.format == format else {
            return .useless("it is torn, or no record at all", nil)
        }
        guard kind.version == version else { return .useless("it is of version \(kind.version)", nil) }
        guard let file = try? JSONDecoder().decode(File.self, from: data),
            (try? checksum(of: file.record)) == file.checksum
        else { return .useless("its checksum does not fit", nil) }
        if let difference = file.record.subject.difference(from: subject) {
            return .useless(difference, file.record)
        }
        if let expires = file.record.expires, expires <= now { return .useless("the store has forgotten it", nil) }
        return .usable(file.record)
    }

    private static func checksum(of record: ResumeRecord) throws -> String {
        String(CRC64(of: try encoder.encode(record)).value, radix: 16)
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
