import CWaybillImages
import Glibc
import WaybillCore

/// One run of an external decoder: from the bytes of an image to those of a JPEG or PNG file.
struct DecoderProcess {
    let decoder: ExternalDecoder
    let flag: CancellationFlag

    /// The maximum number of bytes that the program may print; it is killed beyond.
    private static let longestMessages = 1 << 20

    func run(_ bytes: [UInt8]) throws(JPEGError) -> [UInt8] {
        let program = decoder.program
        guard program.utf8.first == UInt8(ascii: "/") else {
            throw JPEGError(
                .invalidOptions, "The program of the HEIC decoder must be an absolute path; got \(program).")
        }
        let output = try DecoderOutput.make()
        let started: (outcome: Int, error: SystemError, child: ProcessGroup)
        do throws(SystemError) {
            started = try start(try Self.input(bytes), writingTo: output.path)
        } catch {
            throw JPEGError(.decoderUnavailable, "Could not start \(program): \(error.text).")
        }
        try Self.check(started.outcome, started.error, program)
        let (end, messages) = started.child.wait(
            limit: decoder.timeLimit, longest: Self.longestMessages, endsGroup: true, unless: { flag.isSet })
        guard end == .exited(0) else { throw failure(end, messages) }
        guard let file = try output.read() else {
            throw JPEGError(
                .decoderFailed, "\(program) wrote no image. Save the original as a JPEG.\(Self.quoted(messages))")
        }
        return file
    }

    /// Returns a file in memory that contains the bytes.
    private static func input(_ bytes: [UInt8]) throws(SystemError) -> FileDescriptor {
        let raw = wb_process_make_file()
        guard raw >= 0 else { throw SystemError.last }
        let file = FileDescriptor(owning: raw)
        try file.write(bytes)
        lseek(raw, 0, SEEK_SET)
        return file
    }

    private func start(
        _ input: FileDescriptor, writingTo directory: String
    ) throws(SystemError) -> (outcome: Int, error: SystemError, child: ProcessGroup) {
        let pipe = try ProcessGroup.Pipe()
        let arguments = [decoder.program] + decoder.arguments.map(Self.argument)
        var strings = unsafe arguments.map { text in unsafe SystemPath.with(text) { unsafe UnsafePointer(strdup($0)) } }
        unsafe strings.append(nil)
        defer { unsafe strings.forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) } }
        var child = pid_t()
        var error: Int32 = 0
        // The C code knows only the numbers of the descriptors, which must stay open until it returns.
        defer { withExtendedLifetime((input, pipe)) {} }
        let outcome = unsafe SystemPath.with(directory) { directory in
            unsafe strings.withUnsafeBufferPointer { strings in
                var process = unsafe wb_process(
                    program: strings[0]!, arguments: strings.baseAddress!, directory: directory, input: input.raw,
                    output: pipe.writer.raw, memory: UInt64(clamping: decoder.memoryLimit.bytes),
                    seconds: UInt64(clamping: max(1, decoder.timeLimit.components.seconds)),
                    file_size: UInt64(JPEGBounds.inputBytes))
                return unsafe wb_process_start(&process, &child, &error)
            }
        }
        return (Int(outcome), SystemError(error), ProcessGroup(child, output: pipe.reader))
    }

    private static func argument(_ template: String) -> String {
        switch template {
        case "{input}": "/dev/stdin"
        case "{output}": DecoderOutput.name
        default: template
        }
    }

    private static func check(_ outcome: Int, _ error: SystemError, _ program: String) throws(JPEGError) {
        let reason: String
        switch outcome {
        case wb_process_started: return
        case wb_process_not_confined:
            reason =
                "Could not confine \(program): \(error.text). Use Linux 5.13 or later with Landlock and seccomp; in a "
                + "container, allow the system calls landlock_* and prctl. Or convert the image elsewhere."
        case wb_process_not_executed where error.number == ENOENT:
            reason = "\(program) does not exist. Install it; on Debian and Ubuntu, libheif-examples has heif-convert."
        default: reason = "Could not start \(program): \(error.text)."
        }
        throw JPEGError(.decoderUnavailable, reason)
    }

    private func failure(_ end: ProcessGroup.End, _ messages: [UInt8]) -> JPEGError {
        let program = decoder.program
        switch end {
        case .stopped: return .stopped
        case .timedOut:
            return JPEGError(
                .decoderFailed, "\(program) exceeded the time limit of \(decoder.timeLimit). \(Remedy.convertHEIC)")
        case .outputExceeded:
            return JPEGError(
                .decoderFailed, "\(program) printed more than 1 MiB of messages. Save the image as a JPEG.")
        case .killed(SIGXCPU):
            return JPEGError(.decoderFailed, "\(program) exceeded its limit of processor time. \(Remedy.convertHEIC)")
        case .killed(SIGXFSZ):
            return JPEGError(
                .decoderFailed, "\(program) wrote more than \(JPEGBounds.inputBytes) bytes. Scale the image down first."
            )
        case .killed(SIGKILL):
            return JPEGError(
                .decoderFailed, "\(program) was killed, possibly because memory ran out. Convert fewer images at once.")
        case .killed(let signal):
            return JPEGError(
                .decoderFailed,
                "\(program) crashed (signal \(signal)): the image is damaged or needs more memory. \(Remedy.convertHEIC)"
            )
        case .exited(let status):
            return JPEGError(
                .decoderFailed,
                "\(program) could not decode the image and exited with status \(status). Copy the file again, or save it as "
                    + "a JPEG.\(Self.quoted(messages))")
        }
    }

    /// Returns the first line of the messages, which may contain text of the image, in printable characters.
    private static func quoted(_ messages: [UInt8]) -> String {
        let lines = messages.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
        guard let line = lines.first else { return "" }
        let text = String(decoding: line.prefix(200), as: UTF8.self)
        return " It printed: " + text.unicodeScalars.map { $0.controlsOutput ? $0.outputEscape : String($0) }.joined()
    }
}

/// The directory of an external decoder, with empty files for its output. It is removed with this value.
private final class DecoderOutput {
    /// The name that the program is given.
    static let name = "image.jpg"
    /// Some programs number their output files. These names exist in advance, because the program can't create files.
    private static let names = [name] + (1...8).map { "image-\($0).jpg" }

    let path: String

    static func make() throws(JPEGError) -> DecoderOutput {
        do throws(SystemError) {
            return try DecoderOutput()
        } catch {
            throw JPEGError(
                .decoderUnavailable,
                "Could not create a temporary directory in \(SystemPath.temporaryDirectory): \(error.text). Set the "
                    + "environment variable TMPDIR to another directory.")
        }
    }

    private init() throws(SystemError) {
        // mkdtemp replaces six letters.
        let name = "/waybill-" + String(repeating: "X", count: 6)
        var template = SystemPath.bytes(of: SystemPath.temporaryDirectory + name) + [0]
        let isMade = unsafe template.withUnsafeMutableBytes { unsafe mkdtemp($0.baseAddress!) != nil }
        guard isMade else { throw SystemError.last }
        path = SystemPath.text(of: template.dropLast())
        for name in Self.names {
            let raw = unsafe SystemPath.with("\(path)/\(name)") { unsafe open($0, O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
            guard raw >= 0 else { throw SystemError.last }
            close(raw)
        }
    }

    deinit {
        for name in Self.names { _ = unsafe SystemPath.with("\(path)/\(name)") { unsafe unlink($0) } }
        _ = unsafe SystemPath.with(path) { unsafe rmdir($0) }
    }

    /// Returns the first file that is not empty.
    func read() throws(JPEGError) -> [UInt8]? {
        for name in Self.names {
            let bytes = try PhotoFile.read("\(path)/\(name)", upTo: JPEGBounds.inputBytes)
            if !bytes.isEmpty { return bytes }
        }
        return nil
    }
}
