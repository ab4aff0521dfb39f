import Glibc
import Waybill

/// Standard error: lines, and below them a bar that is redrawn, or a few of them.
///
/// Whatever is written here has been freed of the secrets that the command knows.
final class Console: Sendable {
    private struct State {
        var bars: [String] = []
        /// How wide the terminal was when they were drawn.
        var columns = 0
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

    /// Draws the bar in place of what was drawn last; an empty one takes it away.
    func bar(_ text: String) { bars(text.isEmpty ? [] : [text]) }

    /// Draws lines in place of those that were drawn last.
    func bars(_ lines: [String]) {
        guard canRedraw else { return }
        // Read each time: the size of the window may have changed.
        let columns = Terminal.columns
        let shown = lines.map { TerminalText.fitted(Redaction.escaped(scrubbed($0)), to: max(columns - 1, 1)) }
        // Written under the lock: the erased lines must be those on the screen.
        state.withLock { state in
            guard shown != state.bars || columns != state.columns && !shown.isEmpty else { return }
            Output.write(BarBlock.erasing(state.bars, columns: columns) + shown.joined(separator: "\n"), to: 2)
            (state.bars, state.columns) = (shown, columns)
        }
    }

    private func write(_ text: String) {
        let columns = Terminal.columns
        state.withLock { state in
            // One write, so that another process's line can't come between.
            let bars = state.bars
            guard !bars.isEmpty else { return Output.write(text, to: 2) }
            Output.write(BarBlock.erasing(bars, columns: columns) + text + bars.joined(separator: "\n"), to: 2)
        }
    }
}

extension Console {
    /// Runs a delivery of output and reports its failure. The exit status of the upload goes before that of the output.
    func deliver(_ exit: Exit, _ body: () throws(CommandFailure) -> Void) -> Exit {
        do throws(CommandFailure) {
            try body()
            return exit
        } catch {
            failure(error.message)
            return exit == .done ? error.exit : exit
        }
    }

    /// Writes a JSON line about one of many. If it can't be written, the listener is dropped: the uploads continue.
    func write(
        _ event: String, _ members: JSONObject, response: JSONObject, to listener: inout JSONOutput?, _ exit: Exit
    ) -> Exit {
        guard let json = listener else { return exit }
        do throws(CommandFailure) {
            try json.write(event, members, response: response)
            return exit
        } catch {
            listener = nil
            failure(error.message)
            return exit == .done ? error.exit : exit
        }
    }

    /// Warns that `-k` is set.
    func warnInsecure() {
        line("warning: -k: The server's certificate is not verified: an attacker can read and change what is sent.")
    }
}

/// Lines at the bottom of a terminal, the cursor behind the last of them.
enum BarBlock {
    /// What takes them away. A terminal that has become narrower than a line has wrapped it.
    static func erasing(_ lines: [String], columns: Int) -> String {
        let rows = lines.reduce(0) { $0 + max(1, (TerminalText.columns(of: $1) + columns - 1) / columns) }
        return rows > 1 ? "\r\u{1B}[\(rows - 1)A\u{1B}[J" : "\r\u{1B}[K"
    }
}

/// Writes to descriptors, to the last byte.
enum Output {
    /// Writes a string and ignores errors.
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
                // The terminal or the pipe is non-blocking.
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                unsafe _ = poll(&waiting, 1, 1_000)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
