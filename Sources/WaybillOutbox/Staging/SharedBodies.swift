import Glibc
import Waybill
import WaybillCore

/// The files of the items of a shared store.
///
/// A staged file is named in its upload by a relative path, which begins with the place of the file: each worker replaces
/// it with a path of its own machine.
struct SharedBodies: BodyStorage {
    /// Where a staged file is, as the first component of its path.
    private enum Place: String {
        /// Stored with the item.
        case inline
        /// In the shared directory.
        case shared

        func path(_ name: String) -> String { "\(rawValue)/\(name)" }

        /// Returns the place and name of a staged file; `nil` for a file with a path of its own.
        static func parse(_ file: DurableFile) -> (place: Place, name: String)? {
            let parts = file.path.split(separator: "/", omittingEmptySubsequences: false)
            guard file.isStaged, parts.count == 2, let place = Place(rawValue: String(parts[0])) else { return nil }
            return (place, String(parts[1]))
        }
    }

    private let inlineLimit: Int64
    private let directory: Spool?
    private let host: String

    /// - Throws: ``OutboxError/Code/directoryUnusable`` if the shared directory cannot be used.
    init(_ store: SharedOutboxStore, _ operations: SpoolFileOperations) throws(OutboxError) {
        inlineLimit = min(max(0, store.inlineLimit.bytes), Self.maximumInlineLimit)
        host = store.host
        directory = store.sharedDirectory.map { Spool(directory: $0, operations: operations) }
        if let path = store.sharedDirectory { try Self.check(path) }
    }

    /// `nil`: unused files are removed by age.
    func lockAgainstSweep() throws(OutboxError) -> Spool.SweepLock? { nil }

    func stage(_ upload: inout some DurableUpload, _ options: EnqueueOptions) async throws(OutboxError) -> StagedFiles {
        var staged = StagedFiles()
        var files = upload.files
        guard !files.isEmpty else { return staged }
        var size: Int64 = 0
        for index in files.indices {
            try await files[index].record()
            guard files[index].isToBeStaged(options.fileStorage) else {
                guard options.allowsPinning else { throw Self.staysInPlace(files[index]) }
                staged.host = host
                continue
            }
            let (sum, overflow) = size.addingReportingOverflow(files[index].count ?? 0)
            size = overflow ? .max : sum
        }
        let copied = files.indices.filter { files[$0].isToBeStaged(options.fileStorage) }
        if size <= inlineLimit {
            for index in copied {
                let body = StagedBody(name: RandomName.make(), bytes: try await Spool.bytes(of: files[index]))
                files[index] = Self.file(.inline, body.name, size: Int64(body.bytes.count))
                staged.bodies.append(body)
            }
        } else if let directory {
            staged.names = try await directory.store(copied.map { files[$0] })
            do throws(OutboxError) {
                for (index, name) in zip(copied, staged.names) {
                    files[index] = DurableFile(path: directory.path(name))
                    try await files[index].record()
                    files[index].path = Place.shared.path(name)
                    files[index].isStaged = true
                }
            } catch {
                directory.remove(staged.names)
                throw error
            }
        } else {
            throw tooLarge(size)
        }
        upload.files = files
        return staged
    }

    func open(
        _ upload: any DurableUpload, read: (String) async throws(OutboxError) -> [UInt8]?
    ) async throws(OutboxError) -> OpenedUpload {
        var files = upload.files
        var opened = OpenedUpload(upload: upload)
        for index in files.indices {
            guard let (place, name) = Place.parse(files[index]) else { continue }
            let size = files[index].count
            switch place {
            case .inline:
                guard let bytes = try await read(name), Int64(bytes.count) == size else {
                    throw OutboxError(.storageFailed, "The store no longer has the file \(name) of the item.")
                }
                let file = try await Self.temporaryFile(bytes)
                files[index] = DurableFile(path: "/proc/self/fd/\(file.descriptor.raw)")
                // Uploads send the bytes, so that a resumed upload is recognized on another machine.
                files[index].pending = bytes
                opened.temporaryFiles.append(file)
            case .shared:
                guard let directory else {
                    throw OutboxError(
                        .filesNotShared, "The file \(name) is in the shared directory. \(Remedy.provideSharedDirectory)"
                    )
                }
                files[index] = DurableFile(path: directory.path(name))
                try await files[index].record()
                guard files[index].count == size else {
                    throw OutboxError(
                        .storageFailed, "The staged file \(files[index].path) has not its original size.")
                }
            }
            files[index].isStaged = true
        }
        if !files.isEmpty { opened.upload.files = files }
        return opened
    }

    func remove(_ names: [String]) { directory?.remove(names) }

    /// Removes files that no item needs and that are older than a day: another machine may be staging newer ones.
    func sweep(inUse: ([String]) async throws(OutboxError) -> Set<String>) async throws(OutboxError) -> Int? {
        try await directory?.sweep(minimumAge: Self.minimumAge, inUse: inUse)
    }

    private static func file(_ place: Place, _ name: String, size: Int64) -> DurableFile {
        var file = DurableFile(path: "/")
        file.path = place.path(name)
        file.stamp = DurableFile.Stamp(size: size)
        file.isStaged = true
        return file
    }

    /// Writes bytes to a file that has no name, for uploads that read a path.
    private static func temporaryFile(_ bytes: [UInt8]) async throws(OutboxError) -> AtomicFile {
        do {
            return try await BlockingThread.run { () throws(SystemError) in
                let file = try AtomicFile.make(for: "\(SystemPath.temporaryDirectory)/body", access: O_RDWR)
                try file.append(bytes)
                return file
            }
        } catch {
            throw OutboxError(
                .storageFailed,
                "Could not create a temporary file in \(SystemPath.temporaryDirectory): \(error). Set the environment "
                    + "variable TMPDIR to another directory.", cause: error)
        }
    }

    /// The directory is not created: it is missing on a machine that has not mounted its file system.
    private static func check(_ path: String) throws(OutboxError) {
        var status = stat()
        guard path.hasPrefix("/"), unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw OutboxError(
                .directoryUnusable,
                "The shared directory \(path) does not exist. Mount its file system, and create it on one machine.")
        }
        guard status.st_mode & 0o007 == 0 else {
            throw OutboxError(
                .directoryUnusable, "The shared directory \(path) is accessible to other users. Run chmod o= on it.")
        }
        guard unsafe access(path, R_OK | W_OK | X_OK) == 0 else {
            throw OutboxError(
                .directoryUnusable, "The shared directory \(path) is not writable: \(errorText(errno)).")
        }
    }

    private static func staysInPlace(_ file: DurableFile) -> OutboxError {
        OutboxError(.filesNotShared, "Other machines cannot read \(file). \(Remedy.shareFiles)")
    }

    private func tooLarge(_ size: Int64) -> OutboxError {
        OutboxError(
            .filesNotShared,
            "The files of the upload have \(size) bytes, and the store keeps at most \(inlineLimit) with an item. "
                + "\(Remedy.shareLargeFiles)")
    }

    private static let maximumInlineLimit: Int64 = 8 * 1_048_576
    private static let minimumAge: Int = 86_400
}
