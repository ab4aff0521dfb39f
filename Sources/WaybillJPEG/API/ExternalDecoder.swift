public import WaybillCore

/// A program that decodes HEIC images to JPEG, in a process of its own.
///
/// ```swift
/// var options = JPEGOptions.maxBytes(.kibibytes(100))
/// options.heicDecoder = .heifConvert                  // Debian and Ubuntu: apt-get install libheif-examples
/// ```
///
/// Decoders of HEIC have had many vulnerabilities, so a file of a stranger is not decoded in the process that holds
/// your tokens. The program receives the image on standard input and writes a JPEG file or, with the trait `Images`, a
/// PNG file. If it crashes, hangs, or exceeds a limit, compression fails with ``JPEGError/Code/decoderFailed``, and your
/// process continues.
///
/// **Confinement**: Landlock and seccomp (Linux 5.13) deny the program the contents of all files but its input, its
/// output, and those of the system below `/usr`, `/lib` and `/bin`, so its libraries must be there; exceptions are a few
/// devices and the linker's cache. It has no network and
/// no capabilities, does not inherit your environment variables, and cannot send signals to other processes or trace
/// them. It can start threads, but no processes: a script must end with `exec`. If the kernel lacks Landlock or seccomp,
/// or forbids their use, the program is not started, and compression fails with
/// ``JPEGError/Code/decoderUnavailable``.
///
/// The program's output is a file in a new directory in `TMPDIR` or `/tmp`, which only its owner can read. The directory
/// is removed at the end. It remains if your process is killed meanwhile.
public struct ExternalDecoder: Sendable, Hashable {
    /// The absolute path of the program.
    public var program: String
    /// Its arguments. An argument `{input}` becomes `/dev/stdin`, an argument `{output}` becomes `image.jpg`: an empty
    /// file in the working directory, which the program overwrites. It can also write `image-1.jpg` to `image-8.jpg`,
    /// and create no other file. The first file that is not empty is used.
    public var arguments: [String]
    /// The maximum time for one image. It also limits the processor time, rounded down to whole seconds, at least one.
    /// 30 seconds by default.
    public var timeLimit: Duration
    /// The maximum address space of the program. 2 GiB by default: a photo of 48 megapixels needs less than half of it.
    public var memoryLimit: ByteCount

    /// Creates a decoder from a program and its arguments.
    public init(
        program: String, arguments: [String], timeLimit: Duration = .seconds(30),
        memoryLimit: ByteCount = .gibibytes(2)
    ) {
        self.program = program
        self.arguments = arguments
        self.timeLimit = timeLimit
        self.memoryLimit = memoryLimit
    }

    /// `heif-convert` of libheif at `/usr/bin`, which writes a JPEG file of quality 98. Of a file with several images,
    /// the first is used.
    public static let heifConvert = ExternalDecoder(
        program: "/usr/bin/heif-convert", arguments: ["-q", "98", "{input}", "{output}"])
}
