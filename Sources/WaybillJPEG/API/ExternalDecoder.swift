public import WaybillCore

/// A program that decodes HEIC images to JPEG, in a process of its own.
///
/// ```swift
/// var options = JPEGOptions.maxBytes(.kibibytes(100))
/// options.heicDecoder = .heifConvert                  // Debian and Ubuntu: apt-get install libheif-examples
/// ```
///
/// Decoders of HEIC have had many vulnerabilities, so a file of a stranger is not decoded in the process that holds
/// your tokens. The program receives the image on standard input and writes a JPEG file, or with the trait `Images` a
/// PNG file. It cannot open any other file except those below `/usr`, `/lib` and `/bin`, nor a socket, nor affect other
/// processes. It does not see the environment, and has no capabilities. If it crashes, hangs, or exceeds a limit, the
/// image fails with ``JPEGError/Code/decoderFailed``, and nothing else happens.
///
/// The confinement uses Landlock and seccomp (Linux 5.13). If the kernel lacks them, nothing is started, and the image
/// fails with ``JPEGError/Code/decoderUnavailable``.
///
/// Its output is a file in a new directory in `TMPDIR` or `/tmp`, which only its owner can read. The directory is removed
/// at the end. It remains if this process is killed meanwhile.
public struct ExternalDecoder: Sendable, Hashable {
    /// The absolute path of the program.
    public var program: String
    /// Its arguments. `{input}` is replaced with the path of the standard input, `{output}` with the name of an empty
    /// file that the program overwrites, `image.jpg`. It can create no other file.
    public var arguments: [String]
    /// The maximum time for one image, both elapsed and of each processor. 30 seconds by default.
    public var timeLimit: Duration
    /// The maximum address space. 2 GiB by default: a photo of 48 megapixels needs less than half of it.
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

    /// `heif-convert` of libheif at `/usr/bin`, with a JPEG file of quality 98. Of a file with several images, the
    /// first is used.
    public static let heifConvert = ExternalDecoder(
        program: "/usr/bin/heif-convert", arguments: ["-q", "98", "{input}", "{output}"])
}
