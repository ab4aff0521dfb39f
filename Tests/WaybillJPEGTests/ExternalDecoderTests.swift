import Foundation
import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

/// HEIC images through `heif-convert`, and hostile decoders: scripts that do what an exploited decoder might.
@Suite(.timeLimit(.minutes(5 * Slowness.factor))) struct ExternalDecoderTests {
    static let heifConvert = JPEGOptions(quality: 92, heicDecoder: .heifConvert)

    /// Options with a shell script as the decoder. `$1` is its input, `$2` its output, `$3` what a test passes.
    static func script(_ text: String, _ argument: String = "", timeLimit: Duration = .seconds(30)) -> JPEGOptions {
        JPEGOptions(
            quality: 92,
            heicDecoder: ExternalDecoder(
                program: "/bin/sh", arguments: ["-c", text, "decoder", "{input}", "{output}", argument],
                timeLimit: timeLimit, memoryLimit: .mebibytes(512)))
    }

    /// What a script prints when it fails is in the message.
    static func failure(_ script: String, _ argument: String = "", timeLimit: Duration = .seconds(30)) -> JPEGError? {
        #expect(throws: JPEGError.self) {
            try recompress(TinyHEIC.upright, Self.script(script, argument, timeLimit: timeLimit))
        }
    }

    static let colors = [
        "red": (200, 40, 40), "green": (40, 180, 60), "blue": (50, 60, 200), "yellow": (220, 210, 60),
    ]

    /// Expects the colors of the quarters: upper left, upper right, lower left, lower right.
    static func expect(_ result: JPEGResult, _ names: [String]) throws {
        let seen = try DecodedPixels(result.bytes)
        let (width, height) = (seen.header.width, seen.header.height)
        for (name, (x, y)) in zip(names, [(1, 1), (3, 1), (1, 3), (3, 3)]) {
            let color = colors[name]!
            let wanted = RGBColor(red: color.0, green: color.1, blue: color.2).yCbCr
            for (seen, wanted) in zip(seen.yCbCr(x * width / 4, y * height / 4), wanted) {
                #expect(abs(seen - Double(wanted)) < 14, "\(name)")
            }
        }
    }

    // MARK: heif-convert

    @Test func `a HEIC image is decoded`() throws {
        let result = try recompress(TinyHEIC.upright, Self.heifConvert)
        #expect(result.report.originalBytes == TinyHEIC.upright.count && !result.report.isPassedThrough)
        #expect(result.report.width == 64 && result.report.height == 48)
        try Self.expect(result, ["red", "green", "blue", "yellow"])
    }

    @Test func `an image is turned once, although its Exif data say it again`() throws {
        let result = try recompress(TinyHEIC.turned, Self.heifConvert)
        #expect(result.report.width == 48 && result.report.height == 64 && result.report.orientation == 1)
        #expect(result.report.stripped == ["Exif"])
        try Self.expect(result, ["blue", "red", "yellow", "green"])
    }

    @Test func `the first of several images is used`() throws {
        let result = try recompress(TinyHEIC.double, Self.heifConvert)
        try Self.expect(result, ["red", "green", "blue", "yellow"])
    }

    @Test func `every cut of a file is an error or the image`() async throws {
        await withTaskGroup(of: Void.self) { group in
            for length in stride(from: 0, to: TinyHEIC.upright.count, by: 31) {
                group.addTask {
                    do throws(JPEGError) {
                        _ = try recompress(Array(TinyHEIC.upright[..<length]), Self.heifConvert)
                    } catch {
                        #expect([.empty, .notAJPEG, .decoderFailed].contains(error.code), "\(length): \(error)")
                    }
                }
            }
        }
    }

    @Test func `without a decoder the message names the option`() {
        let error = #expect(throws: JPEGError.self) { try recompress(TinyHEIC.upright, .quality(90)) }
        #expect(error?.code == .notAJPEG && error?.message.contains("Set heicDecoder") == true)
    }

    @Test func `other files do not reach the decoder`() throws {
        let result = try recompress(Scene.photoFile, Self.script("exit 9"))
        #expect(result.report.failure == nil)
    }

    @Test func `a curve is measured with a decoder`() async throws {
        let points = try await JPEGRecompressor(Self.heifConvert).curve(
            of: .bytes(TinyHEIC.upright), limits: [.bytes(450), .bytes(900)])
        #expect(points.map(\.report.originalBytes) == [TinyHEIC.upright.count, TinyHEIC.upright.count])
    }

    // MARK: What a decoder can do

    @Test func `a decoder reads its input and writes its output`() throws {
        let image = try recompress(Scene.photoFile, .quality(92)).bytes
        let copy = "open(sys.argv[2], 'wb').write(base64.b64decode(sys.argv[3]))"
        let result = try recompress(
            TinyHEIC.upright,
            Self.script(
                """
                [ -r $1 ] && exec /usr/bin/python3 -c "import base64, sys
                assert len(open(sys.argv[1], 'rb').read()) == \(TinyHEIC.upright.count)
                \(copy)" $1 $2 $3
                """, Data(image).base64EncodedString()))
        #expect(result.report.width == 240 && result.report.height == 180)
    }

    /// What an exploited decoder might do, in Python. `parent` is this process.
    static let attacks = [
        "open('/etc/passwd')", "os.listdir('/')", "os.listdir('/tmp')", "open(f'/proc/{parent}/environ')",
        "open('/proc/self/environ')", "open('new', 'w')", "os.mkdir('new')", "os.symlink('/etc/passwd', 'new')",
        "os.link('image.jpg', 'new')", "os.mkfifo('new')", "os.rename('image.jpg', 'new')", "os.unlink('image.jpg')",
        "open('/tmp/waybill-escaped', 'w')", "os.open('/etc/passwd', 3)",
        "os.open('image.jpg', os.O_RDONLY | os.O_TRUNC)", "os.open('.', os.O_TMPFILE | os.O_RDWR)",
        "os.truncate('image.jpg', 0)", "os.chmod('image.jpg', 0o777)", "os.chown('image.jpg', 0, 0)",
        "os.setxattr('image.jpg', 'user.x', b'x')", "os.utime('image.jpg')", "os.memfd_create('x')",
        "check(libc.fallocate(os.open('image.jpg', os.O_WRONLY), 1, 0, 1000))",
        "check(libc.shmget(1, 4096, 0o1600))", "check(libc.shmctl(0, 13, None))", "os.kill(parent, 0)",
        "os.kill(-1, 0)", "os.kill(0, 0)", "os.setsid()", "os.setpgid(0, 0)", "os.fork()",
        "check(libc.unshare(0x10000000))", "check(libc.mount(b'x', b'.', b'tmpfs', 0, None))", "socket.socket()",
        "socket.socket(socket.AF_UNIX)", "socket.socketpair()", "os.sched_setaffinity(parent, [0])",
        "resource.prlimit(parent, resource.RLIMIT_CORE, (1, 1))", "check(libc.ptrace(16, parent, None, None))",
        "fcntl.fcntl(1, fcntl.F_SETOWN, parent)", "fcntl.fcntl(1, 10, 9)", "fcntl.ioctl(1, 0x8901, b'1234')",
        "check(libc.prctl(1, 0))", "check(libc.syscall(463, 0, 0, 0))",
    ]

    @Test(arguments: attacks)
    func `what a decoder must not do is denied`(attack: String) throws {
        let error = Self.failure(
            """
            exec /usr/bin/python3 -c "
            import ctypes, fcntl, os, resource, socket, sys
            libc = ctypes.CDLL(None, use_errno=True)
            parent = \(getpid())
            def check(code):
                if code == -1: raise OSError(ctypes.get_errno(), 'failed')
            try:
                \(attack)
            except OSError as error:
                sys.exit(100 + error.errno)
            "
            """)
        // 101, 113, 125, 138 and 195: the errors EPERM, EACCES, ENOTTY, ENOSYS and EOPNOTSUPP. Another status is a mistake
        // in the attack, and a successful one writes no image.
        let message = try #require(error?.message)
        #expect(message.contains(/exited with status (101|113|125|138|195)\./), "\(attack): \(message)")
    }

    @Test func `the environment and open files stay outside`() {
        let environment = Self.failure(
            "exec /usr/bin/python3 -c 'import os, sys; sys.exit(str(sorted(os.environ)))'")
        #expect(
            environment?.message.hasSuffix("It printed: ['LANG', 'PATH', 'PWD']") == true,
            "\(environment?.message ?? "")")
        let files = Self.failure("for i in 0 1 2 3 4 5 6 7 8 9; do [ -e /dev/fd/$i ] && printf $i >&2; done; exit 1")
        #expect(files?.message.hasSuffix("It printed: 012") == true, "\(files?.message ?? "")")
    }

    @Test func `nothing remains in the directory for temporary files`() {
        let failed = Self.failure("echo x > image-3.jpg; pwd >&2; exit 1")
        let path = failed?.message.split(separator: "It printed: ").last.map(String.init) ?? ""
        #expect(path.contains("/waybill-") && !FileManager.default.fileExists(atPath: path), "\(path)")
    }

    // MARK: Failures

    @Test(arguments: [
        ("kill -SEGV $$", "crashed (signal 11)"), ("exit 3", "exited with status 3"),
        ("echo 'bad\u{1b}[1m box' >&2; exit 1", "It printed: bad\\u{1b}[1m box"), ("exit 0", "wrote no image"),
        ("ulimit -S -t 1; while :; do :; done", "exceeded its limit of processor time"),
        ("exec head -c 200000000 /dev/zero > $2", "wrote more than"),
        ("exec yes >&2", "printed more than 1 MiB"),
        ("exec /usr/bin/python3 -c 'x = bytearray(900_000_000)'", "exited with status 1"),
    ])
    func `a decoder that fails is an unreadable image`(script: String, message: String) {
        let error = Self.failure(script)
        #expect(error?.code == .decoderFailed && error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: ["echo hello > $2", "exec cat $1 > $2", "printf '\\377\\330\\377' > $2"])
    func `output that is not an image is an error of the decoder`(script: String) {
        let error = Self.failure(script)
        #expect(error?.code == .decoderFailed, "\(error?.message ?? "")")
        #expect(error?.message.contains("wrote an unusable image: The ") == true, "\(error?.message ?? "")")
    }

    @Test(arguments: ["exec sleep 1000", "exec 1>&- 2>&-; while :; do :; done", "kill -STOP $$"])
    func `a decoder that hangs is ended`(script: String) {
        let start = ContinuousClock.now
        let error = Self.failure(script, timeLimit: .milliseconds(300))
        #expect(error?.code == .decoderFailed && error?.message.contains("time limit") == true)
        #expect(ContinuousClock.now - start < .seconds(20 * Slowness.factor))
    }

    @Test func `a pipe that the child empties does not stop the reader`() throws {
        // Between poll and read, a child can empty the pipe through /proc/self/fd/1, which happens in one of ten attempts.
        let pipe = try ProcessGroup.Pipe()
        var byte: UInt8 = 0
        #expect(unsafe read(pipe.reader.raw, &byte, 1) == -1 && errno == EAGAIN)
    }

    @Test func `cancelling ends the decoder`() async {
        let options = Self.script("exec sleep 1000")
        let task = Task { () async throws(JPEGError) in
            try await JPEGRecompressor(options).recompress(TinyHEIC.upright)
        }
        task.cancel()
        let error = await #expect(throws: JPEGError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test func `a decoder that is not installed is named`() {
        let missing = ExternalDecoder(program: "/usr/bin/no-such-decoder", arguments: [])
        let error = #expect(throws: JPEGError.self) {
            try recompress(TinyHEIC.upright, JPEGOptions(quality: 90, heicDecoder: missing))
        }
        #expect(error?.code == .decoderUnavailable && error?.message.contains("does not exist") == true)
        let relative = ExternalDecoder(program: "heif-convert", arguments: [])
        #expect(
            failureCode(JPEGOptions(quality: 90, heicDecoder: relative)) == .invalidOptions)
    }

    private func failureCode(_ options: JPEGOptions) -> JPEGError.Code? {
        WaybillJPEGTests.failure(TinyHEIC.upright, options)
    }

    @Test func `the original is never sent instead`() {
        var options = Self.script("exit 1")
        options.onFailure = .sendOriginal
        #expect(failureCode(options) == .decoderFailed)
    }
}
