import Glibc
import TestSupport

/// A pseudo-terminal that records what programs write to it.
final class PseudoTerminal: Sendable {
    /// The path of the end that programs open.
    let path: String
    private let descriptor: Int32
    private let written = Watched<[UInt8]>([])

    init(columns: Int) throws {
        descriptor = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw NoTerminal(code: errno) }
        var isLocked: Int32 = 0
        var number: UInt32 = 0
        // TIOCSPTLCK and TIOCGPTN (ioctl_tty(2)): Swift does not import computed macros.
        guard unsafe ioctl(descriptor, 0x4004_5431, &isLocked) == 0,
            unsafe ioctl(descriptor, 0x8004_5430, &number) == 0
        else { throw NoTerminal(code: errno) }
        path = "/dev/pts/\(number)"
        resize(to: columns)
        let (descriptor, written) = (descriptor, written)
        Task {
            await onOwnThread {
                var buffer = [UInt8](repeating: 0, count: 4_096)
                while true {
                    let count = unsafe buffer.withUnsafeMutableBytes {
                        unsafe read(descriptor, $0.baseAddress, $0.count)
                    }
                    // EIO: the last program has closed the other end.
                    guard count > 0 else { break }
                    written.update { $0 += buffer[..<count] }
                }
                close(descriptor)
            }
        }
    }

    struct NoTerminal: Error { let code: Int32 }

    /// Sets the width.
    func resize(to columns: Int) {
        var size = winsize(ws_row: 24, ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        unsafe _ = ioctl(descriptor, UInt(TIOCSWINSZ), &size)
    }

    /// The text written so far.
    var text: String { String(decoding: written.value, as: UTF8.self) }

    /// Waits until the text written so far satisfies the condition.
    @discardableResult
    func waitUntil(_ isMet: @escaping @Sendable (String) -> Bool) async throws -> String {
        String(decoding: try await written.waitUntil { isMet(String(decoding: $0, as: UTF8.self)) }, as: UTF8.self)
    }

    /// Returns every bar that was drawn: the last line of the screen before each erasure and at the end.
    static func bars(in text: String, columns: Int) -> [String] {
        var screen = Screen(columns: columns)
        screen.feed(text)
        return (screen.frames.map(\.lines) + [screen.text]).compactMap(\.last)
    }

    /// Returns the lines on the screen at the end, without empty lines.
    static func screen(after text: String, columns: Int) -> [String] {
        var screen = Screen(columns: columns)
        screen.feed(text)
        return screen.text.filter { !$0.isEmpty }
    }

    /// Runs the program with its standard error, and optionally its standard output, on this terminal.
    func run(
        _ arguments: [String], environment extra: [String: String] = ["TERM": "xterm"], withOutput: Bool = false
    ) throws -> ChildProcess {
        let script = "exec \"$@\" 2>\"$0\"" + (withOutput ? " >&2" : "")
        return try ChildProcess(
            "sh", ["-c", script, path, Tool.path] + arguments, environment: Tool.environment(extra))
    }
}

extension String {
    func components(separatedBy separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}
