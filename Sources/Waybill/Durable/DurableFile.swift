import Glibc
import WaybillCore
import WaybillMultipart

/// A file that a durable upload reads when it is delivered: where it lies, and what it was when it was handed over.
public struct DurableFile: Sendable, Hashable {
    /// What tells one state of a file from another: the number of the file, its size and the time of its last change.
    ///
    /// The device is not among them, for it may have another number after the machine was started anew, nor is the time of
    /// the last change of its name or its rights, which say nothing about its bytes.
    public struct Stamp: Sendable, Hashable, Codable {
        /// The file's number (`st_ino`).
        public var inode: UInt64
        /// Its bytes.
        public var size: Int64
        /// When its bytes were last changed, in seconds since 1970.
        public var modifiedSeconds: Int64
        /// The nanoseconds of that time.
        public var modifiedNanoseconds: Int64
    }

    /// Where it lies, absolute. Empty while it is only bytes in memory.
    public var path: String
    /// What it was; `nil` before anybody looked.
    public var stamp: Stamp?
    /// Whether it is a copy that belongs to the outbox.
    public var isStaged = false
    /// Bytes that have yet to be written to a file. They are never encoded.
    package var pending: [UInt8]?

    /// A file at a path. Nothing is looked at yet.
    ///
    /// A relative path is taken from where the program is now: whoever delivers it may be somewhere else.
    public init(path: String) {
        self.path = Self.absolute(path)
    }

    /// Bytes that the outbox will write to a file of its own.
    public init(bytes: [UInt8]) {
        path = ""
        pending = bytes
    }

    /// The number of bytes, as far as it is known.
    public var count: Int64? { pending.map { Int64($0.count) } ?? stamp?.size }

    /// Looks at the file and notes what it is.
    ///
    /// - Throws: ``UploadError``: there is none, it is no regular file, or it may not be read.
    public mutating func inspect() async throws(UploadError) {
        guard pending == nil else { return }
        stamp = try await Self.look(at: path)
    }

    /// Makes sure that the file is still what was noted.
    ///
    /// - Throws: ``UploadError/Code/sourceChanged``, or why it can't be read.
    public func check() async throws(UploadError) {
        guard pending == nil, let stamp else { return }
        let now: Stamp
        do {
            now = try await Self.look(at: path)
        } catch  where error.code == .fileNotFound {
            throw Self.changed(path, "was removed", cause: error)
        }
        guard now != stamp else { return }
        let what =
            if now.inode != stamp.inode {
                "was replaced by another file"
            } else if now.size != stamp.size {
                "\(now.size < stamp.size ? "shrank" : "grew") from \(stamp.size) to \(now.size) bytes"
            } else {
                "was modified"
            }
        throw Self.changed(path, what, cause: nil)
    }

    private static func absolute(_ path: String) -> String {
        guard !path.isEmpty, path.utf8.first != UInt8(ascii: "/"), let here = unsafe getcwd(nil, 0) else { return path }
        defer { unsafe free(here) }
        let folder = unsafe SystemPath.text(of: UnsafeRawBufferPointer(start: here, count: strlen(here)))
        return folder == "/" ? "/\(path)" : "\(folder)/\(path)"
    }

    private static func changed(_ path: String, _ what: String, cause: (any Error)?) -> UploadError {
        UploadError(
            .sourceChanged,
            "\(Redaction.escaped(path)) \(what) after it was handed over. Hand it over again, or let the outbox keep a copy.",
            phase: .preparing, cause: cause)
    }

    private static func look(at path: String) async throws(UploadError) -> Stamp {
        do {
            let found = try await ReaderPool.shared.run(reading: path) { () throws(BodyError) in
                try SourceFile(inspecting: path, at: nil).stamp
            }
            return Stamp(
                inode: found.inode, size: found.size, modifiedSeconds: Int64(found.modified.seconds),
                modifiedNanoseconds: Int64(found.modified.nanoseconds))
        } catch {
            throw UploadError(preparing: error)
        }
    }
}

extension DurableFile: Codable {
    private enum CodingKeys: String, CodingKey {
        case path, stamp, isStaged
    }

    /// Reads what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        path = try values.decode(String.self, forKey: .path)
        stamp = try values.decodeIfPresent(Stamp.self, forKey: .stamp)
        isStaged = try values.decodeIfPresent(Bool.self, forKey: .isStaged) ?? false
    }

    /// Writes path and stamp.
    ///
    /// - Throws: `EncodingError` while the bytes are in no file yet: they would be lost.
    public func encode(to encoder: any Encoder) throws {
        guard pending == nil else {
            throw EncodingError.invalidValue(
                count ?? 0,
                EncodingError.Context(
                    codingPath: encoder.codingPath, debugDescription: "bytes have to be written to a file first"))
        }
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(path, forKey: .path)
        try values.encodeIfPresent(stamp, forKey: .stamp)
        if isStaged { try values.encode(true, forKey: .isStaged) }
    }
}

extension DurableFile: CustomStringConvertible, CustomReflectable {
    /// The path and the size; never a byte of it.
    public var description: String {
        pending.map { "\($0.count) bytes" } ?? "file \(Redaction.escaped(path))"
    }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["file": description]) }
}
