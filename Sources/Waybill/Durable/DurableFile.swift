import Glibc
import WaybillCore
import WaybillMultipart

/// A file that a durable upload reads when it is delivered: its path, and its state when it was enqueued.
public struct DurableFile: Sendable, Hashable {
    /// The state of a file: its inode number, its size and its modification time.
    ///
    /// The device number is not included, because it may change with a restart of the machine. Neither is the status
    /// change time (`ctime`), because changes of name and permissions do not affect the contents.
    package struct Stamp: Sendable, Hashable, Codable {
        /// The inode number (`st_ino`).
        package var inode: UInt64
        /// The size in bytes.
        package var size: Int64
        /// The modification time in seconds since 1970.
        package var modifiedSeconds: Int64
        /// The nanoseconds of the modification time.
        package var modifiedNanoseconds: Int64
    }

    /// The absolute path. Empty while the content exists only in memory; in an item of a shared store, the relative path
    /// of a staged file.
    public var path: String
    /// The state of the file; `nil` before ``inspect()``.
    package var stamp: Stamp?
    /// Whether the file is a copy that belongs to the outbox.
    public var isStaged = false
    /// Bytes that are not yet written to a file. They are never encoded.
    package var pending: [UInt8]?

    /// Creates a reference to a file. The file is not accessed yet.
    ///
    /// A relative path is resolved against the current working directory, because the worker may have another one.
    public init(path: String) {
        self.path = Self.absolute(path)
    }

    /// Creates a file from bytes, which the outbox writes to a file that it owns.
    public init(bytes: [UInt8]) {
        path = ""
        pending = bytes
    }

    /// The number of bytes, if known.
    public var count: Int64? { pending.map { Int64($0.count) } ?? stamp?.size }

    /// Reads and stores the state of the file.
    ///
    /// - Throws: ``UploadError`` if the file does not exist, is not a regular file, or is not readable.
    public mutating func inspect() async throws(UploadError) {
        guard pending == nil else { return }
        stamp = try await Self.readStamp(at: path)
    }

    /// Checks that the file is unchanged since its state was stored.
    ///
    /// - Throws: ``UploadError/Code/sourceChanged``, or an error if the file can't be read.
    public func check() async throws(UploadError) {
        guard pending == nil, let stamp else { return }
        let now: Stamp
        do {
            now = try await Self.readStamp(at: path)
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
        guard !path.isEmpty, path.utf8.first != UInt8(ascii: "/"), let current = unsafe getcwd(nil, 0) else {
            return path
        }
        defer { unsafe free(current) }
        let directory = unsafe SystemPath.text(of: UnsafeRawBufferPointer(start: current, count: strlen(current)))
        return directory == "/" ? "/\(path)" : "\(directory)/\(path)"
    }

    private static func changed(_ path: String, _ what: String, cause: (any Error)?) -> UploadError {
        UploadError(
            .sourceChanged,
            "The file \(Redaction.escaped(path)) \(what) after it was enqueued. Enqueue it again, or let the outbox "
                + "keep a copy.",
            phase: .preparing, cause: cause)
    }

    private static func readStamp(at path: String) async throws(UploadError) -> Stamp {
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

extension DurableFile.Stamp {
    /// Creates the state of a file of which only the size is known.
    package init(size: Int64) {
        self.init(inode: 0, size: size, modifiedSeconds: 0, modifiedNanoseconds: 0)
    }
}

extension DurableFile: Codable {
    private enum CodingKeys: String, CodingKey {
        case path, stamp, isStaged
    }

    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        path = try values.decode(String.self, forKey: .path)
        stamp = try values.decodeIfPresent(Stamp.self, forKey: .stamp)
        isStaged = try values.decodeIfPresent(Bool.self, forKey: .isStaged) ?? false
    }

    /// Encodes the path and the state.
    ///
    /// - Throws: `EncodingError` while the bytes are not written to a file, because they would be lost.
    public func encode(to encoder: any Encoder) throws {
        guard pending == nil else {
            throw EncodingError.invalidValue(
                count ?? 0,
                EncodingError.Context(
                    codingPath: encoder.codingPath,
                    debugDescription: "The bytes are not stored yet. Write them to a file first."))
        }
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(path, forKey: .path)
        try values.encodeIfPresent(stamp, forKey: .stamp)
        if isStaged { try values.encode(true, forKey: .isStaged) }
    }
}

extension DurableFile: CustomStringConvertible, CustomReflectable {
    /// The path or the size, without any contents.
    public var description: String {
        pending.map { "\($0.count) bytes" } ?? "file \(Redaction.escaped(path))"
    }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["file": description]) }
}
