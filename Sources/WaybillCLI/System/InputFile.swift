import WaybillCore
import Glibc
import Waybill

/// Reads small inputs completely: text values, header lines, images from a pipe.
enum InputFile {
    /// The maximum size of a text in bytes.
    static let maxTextBytes = 16 << 20

    /// Reads a file, or standard input for `-`.
    ///
    /// Accepts only regular files, and pipes passed by the shell (`/dev/stdin`, `/dev/fd/63`): a FIFO on disk might
    /// wait for a writer indefinitely, and a device might never end.
    static func read(_ path: String, limit: Int = maxTextBytes, for purpose: String) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        try forEachChunk(of: path, for: purpose) { chunk throws(CommandFailure) in
            bytes += chunk
            guard bytes.count <= limit else {
                throw CommandFailure(
                    code: .fileNotReadable, exit: .source,
                    message: "\(purpose): \(displayName(path)) has more than \(Figures.size(limit)).")
            }
        }
        return bytes
    }

    /// Reads a file, or standard input for `-`, in chunks.
    static func forEachChunk(
        of path: String, for purpose: String, _ body: (ArraySlice<UInt8>) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        if path == "-" { return try readAll(0, path, purpose, body) }
        let descriptor = unsafe SystemPath.with(path) { unsafe open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        let displayName = displayName(path)
        guard descriptor >= 0 else {
            throw .source(errno, "\(purpose): \(displayName)", cannot: "read")
        }
        defer { close(descriptor) }
        var status = stat()
        let isFromShell = path == "/dev/stdin" || path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/self/fd/")
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG || isFromShell else {
            throw CommandFailure(
                code: .fileNotReadable, exit: .source, message: "\(purpose): \(displayName) is not a regular file.")
        }
        _ = fcntl(descriptor, F_SETFL, 0)
        try readAll(descriptor, path, purpose, body)
    }

    /// Checks that a file can be opened.
    static func check(_ path: String) throws(CommandFailure) {
        let descriptor = unsafe SystemPath.with(path) { unsafe open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor < 0 else {
            close(descriptor)
            return
        }
        throw .source(errno, Redaction.quoted(path), cannot: "sent")
    }

    private static func displayName(_ path: String) -> String {
        path == "-" ? "standard input" : "\(Redaction.quoted(path))"
    }

    private static func readAll(
        _ descriptor: Int32, _ path: String, _ purpose: String,
        _ body: (ArraySlice<UInt8>) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw .source(errno, "\(purpose): \(displayName(path))", cannot: "read")
            }
            guard count > 0 else { return }
            try body(buffer[..<count])
        }
    }
}

/// Standard input, which only one argument can read.
enum StandardInput {
    /// Throws if more than one argument reads standard input.
    ///
    /// - Parameters:
    ///   - form: The parts of a form.
    ///   - others: Other options, each with the path that it reads.
    /// - Throws: ``CommandFailure`` that names the first two arguments.
    static func check(_ form: FormOptions, _ others: [(option: String, path: String?)]) throws(CommandFailure) {
        var readers = others.filter { $0.path.map(PipedInput.isStandardInput) ?? false }.map(\.option)
        for text in form.form {
            let argument = try FormArgument(text)
            let paths: [String] =
                switch argument.source {
                case .files(let files): files.map(\.path)
                case .textFile(let path): [path]
                case .literal, .environment, .credential: []
                }
            let count = paths.count { PipedInput.isStandardInput($0) }
            readers += Array(repeating: "-F \(Redaction.quoted(argument.name))", count: count)
        }
        guard readers.count <= 1 else {
            throw .usage(
                "Standard input can be read only once, but \(readers[0]) and \(readers[1]) both read it. "
                    + "Save one of them to a file.")
        }
    }
}

extension CommandFailure {
    /// Returns an error for a file that can't be read or sent, from an error number.
    static func source(_ number: Int32, _ file: String, cannot verb: String) -> CommandFailure {
        CommandFailure(
            code: number == ENOENT ? .fileNotFound : .fileNotReadable, exit: .source,
            message: "\(file) can't be \(verb): \(SystemText.of(number)).")
    }

    /// Returns an error for a file that can't be opened or written, from an error number.
    static func output(_ number: Int32, _ file: String, cannot verb: String) -> CommandFailure {
        CommandFailure(
            code: .writeFailed, exit: .fatal, message: "\(file) can't be \(verb): \(SystemText.of(number)).")
    }
}

/// The system's description of an error number.
enum SystemText {
    static func of(_ number: Int32) -> String { unsafe String(cString: strerror(number)) }
}
