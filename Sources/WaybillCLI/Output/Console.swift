import Glibc
import Waybill

/// Standard error: lines, and below them at most one bar that is redrawn.
///
/// Whatever is written here has been freed of the secrets that the command knows.
final class Console: Sendable {
    private struct State {
        var bar = ""
        var secrets: [String] = []
    }

    /// The console of this process.
    static let standard = Console()

    /// Whether a bar may be drawn.
    let canRedraw = Terminal.canRedraw(Environment.value)
    private let canColour = Terminal.canColour(Environment.value)
    private let state = Locked(State())

    /// Keeps these texts out of everything that is written from now on.
    func hide(_ secrets: [String]) {
        // With the line breaks that files end in, and without. One or two characters are everywhere and hide nothing.
        let variants = secrets.flatMap { secret -> [String] in
            let lines = secret.split(whereSeparator: \.isNewline).map(String.init)
            return [secret] + lines
        }
        let useful = Set(variants).filter { $0.utf8.count > 2 }.sorted { $0.utf8.count > $1.utf8.count }
        state.withLock { $0.secrets += useful }
    }

    /// The text without the secrets.
    func scrubbed(_ text: String) -> String {
        Redaction.scrub(text, of: state.withLock { $0.secrets })
    }

    /// Writes a line above the bar. Control characters in it are made visible.
    func line(_ text: String) {
        write(Redaction.escaped(scrubbed(text)) + "\n")
    }

    /// Writes what went wrong.
    func failure(_ message: String) {
        let text = Redaction.escaped(scrubbed(message))
        write((canColour ? "\u{1B}[31mwaybill:\u{1B}[0m " : "waybill: ") + text + "\n")
    }

    /// Writes a text of our own making that has several lines.
    func block(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        write(lines.map { Redaction.escaped(String($0)) }.joined(separator: "\n") + "\n")
    }

    /// Draws the bar in place of the last one; an empty one takes it away.
    func bar(_ text: String) {
        guard canRedraw else { return }
        let shown = Redaction.escaped(scrubbed(text))
        let isNew = state.withLock { state in
            defer { state.bar = shown }
            return state.bar != shown
        }
        if isNew { Output.write("\r\u{1B}[K\(shown)", to: 2) }
    }

    private func write(_ text: String) {
        let bar = state.withLock { $0.bar }
        // One write, so that another process's line can't come between.
        Output.write(bar.isEmpty ? text : "\r\u{1B}[K\(text)\(bar)", to: 2)
    }
}

/// Writes to descriptors, to the last byte.
enum Output {
    /// Writes a text; what can't be written to standard error is lost.
    static func write(_ text: String, to descriptor: Int32) {
        _ = write(Array(text.utf8), to: descriptor)
    }

    /// - Returns: 0, or the error number.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress! + start, $0.count - start)
            }
            if count >= 0 {
                start += count
            } else if errno == EAGAIN {
                // Somebody made the terminal or the pipe non-blocking.
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                unsafe _ = poll(&waiting, 1, 1_000)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
