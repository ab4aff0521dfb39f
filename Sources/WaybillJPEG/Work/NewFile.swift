import Glibc

/// Puts bytes into a file that appears whole or not at all, readable by its owner only.
///
/// They go to a file without a name (`O_TMPFILE`, open(2)), which the system takes away if the process ends early; where
/// the file system has none of these, to one with a name of its own.
@safe struct NewFile {
    private let path: String
    private let descriptor: Int32
    private let temporaryPath: String
    private var isNamed = false

    /// `O_TMPFILE`, which glibc shows only with _GNU_SOURCE: a bit of its own (`asm-generic/fcntl.h`) and O_DIRECTORY.
    private static let withoutName: Int32 = 0o20000000 | O_DIRECTORY

    /// Writes a file; with `replaces` it takes the place of what is there, and a link is replaced, not followed.
    static func write(_ bytes: [UInt8], to path: String, replaces: Bool) throws(JPEGError) {
        try check(path, replaces: replaces)
        var file = try NewFile(path)
        defer { file.end() }
        try file.fill(bytes)
        try file.place(replaces: replaces)
    }

    /// Says whether a name is taken, so that no work is done for nothing.
    static func check(_ path: String, replaces: Bool) throws(JPEGError) {
        var status = stat()
        if !replaces, unsafe lstat(path, &status) == 0 { throw exists(path) }
    }

    private init(_ path: String) throws(JPEGError) {
        self.path = path
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        temporaryPath = "\(folder)/.waybill-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        var descriptor = unsafe open(folder, O_WRONLY | O_CLOEXEC | Self.withoutName, 0o600)
        if descriptor < 0 {
            descriptor = unsafe open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            isNamed = descriptor >= 0
        }
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
        self.descriptor = descriptor
    }

    private func end() {
        close(descriptor)
        if isNamed { unsafe _ = unlink(temporaryPath) }
    }

    private func fill(_ bytes: [UInt8]) throws(JPEGError) {
        var problem: Int32 = 0
        unsafe bytes.withUnsafeBytes { buffer in
            var sent = 0
            while sent < buffer.count {
                let count = unsafe Glibc.write(descriptor, buffer.baseAddress! + sent, buffer.count - sent)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    problem = count < 0 ? errno : EIO
                    return
                }
                sent += count
            }
        }
        guard problem == 0 else { throw Self.failure(path, problem) }
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw Self.failure(path, errno) }
    }

    private mutating func place(replaces: Bool) throws(JPEGError) {
        guard replaces else {
            // A link is made only where nothing is: nobody's file is lost to a race.
            let number = linkTo(path)
            if number == EEXIST { throw Self.exists(path) }
            guard number == 0 else { throw Self.failure(path, number) }
            return
        }
        if !isNamed {
            let number = linkTo(temporaryPath)
            guard number == 0 else { throw Self.failure(path, number) }
            isNamed = true
        }
        guard unsafe rename(temporaryPath, path) == 0 else { throw Self.failure(path, errno) }
        isNamed = false
    }

    private func linkTo(_ place: String) -> Int32 {
        let from = isNamed ? temporaryPath : "/proc/self/fd/\(descriptor)"
        return unsafe linkat(AT_FDCWD, from, AT_FDCWD, place, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno
    }

    private static func exists(_ path: String) -> JPEGError {
        JPEGError(.fileExists, "\(path) is there already; choose another name, or allow it to be replaced.")
    }

    private static func failure(_ path: String, _ number: Int32) -> JPEGError {
        JPEGError(.fileNotWritable, "\(path) can't be written: \(unsafe String(cString: strerror(number))).")
    }
}
