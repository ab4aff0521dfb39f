import WaybillCore
import Glibc
import Waybill

/// Standard error: lines, and below them one or more bars that are redrawn.
///
/// All known secrets are removed from everything that is written.
final class Console: Sendable {
    private struct State {
        var bars: [String] = []
        /// The width of the terminal when the bars were drawn.
        var columns = 0
        var secrets: [String] = []
    }

    /// The console of this process.
    static let standard = Console()

    /// Whether a bar may be drawn.
    let canRedraw = Terminal.canRedraw(Environment.value)
    private let canUseColor = Terminal.canUseColor(Environment.value)
    private let state = Locked(State())

    /// Redacts these strings in everything that is written from now on.
    func hide(_ secrets: [String]) {
        // With and without the line breaks that files end in. One or two characters match everywhere and protect
        // nothing.
        let variants = secrets.flatMap { secret -> [String] in
            let lines = secret.split(whereSeparator: \.isNewline).map(String.init)
            return [secret] + lines
        }
        let useful = Set(variants).filter { $0.utf8.count > 2 }.sorted { $0.utf8.count > $1.utf8.count }
        state.withLock { $0.secrets += useful }
    }

    /// Returns the text without the secrets.
    func scrubbed(_ text: String) -> String {
        Redaction.scrub(text, of: state.withLock { $0.secrets })
    }

    /// Writes a line above the bar. Control characters in it are escaped.
    func line(_ text: String) {
        write(Redaction.escaped(scrubbed(text)) + "\n")
    }

    /// Writes an error message.
    func failure(_ message: String) {
        let text = Redaction.escaped(scrubbed(message))
        write((canUseColor ? "\u{1B}[31mwaybill:\u{1B}[0m " : "waybill: ") + text + "\n")
    }

    /// Writes a text with several lines that was composed by this program.
    func block(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        write(lines.map { Redaction.escaped(String($0)) }.joined(separator: "\n") + "\n")
    }

    /// Replaces the bars by one bar, or removes them if the text is empty.
    func bar(_ text: String) { bars(text.isEmpty ? [] : [text]) }

    /// Replaces the bars.
    func bars(_ lines: [String]) {
        guard canRedraw else { return }
        // Read each time: the size of the window may have changed.
        let columns = Terminal.columns
        let shown = lines.map { TerminalText.fitted(Redaction.escaped(scrubbed($0)), to: max(columns - 1, 1)) }
        // Written under the lock, so that the erased lines match those on the screen.
        state.withLock { state in
            guard shown != state.bars || columns != state.columns && !shown.isEmpty else { return }
            Output.write(BarBlock.erasing(state.bars, columns: columns) + shown.joined(separator: "\n"), to: 2)
            (state.bars, state.columns) = (shown, columns)
        }
    }

    private func write(_ text: String) {
        let columns = Terminal.columns
        state.withLock { state in
            // A single write, so that lines of other processes are not interleaved.
            let bars = state.bars
            guard !bars.isEmpty else { return Output.write(text, to: 2) }
            Output.write(BarBlock.erasing(bars, columns: columns) + text + bars.joined(separator: "\n"), to: 2)
        }
    }
}

extension Console {
    /// Writes output and reports a failure. The exit status of the upload has precedence over that of the output.
    func deliver(_ exit: Exit, _ body: () throws(CommandFailure) -> Void) -> Exit {
        do throws(CommandFailure) {
            try body()
            return exit
        } catch {
            failure(error.message)
            return exit == .done ? error.exit : exit
        }
    }

    /// Writes a JSON line about one of several uploads. If that fails, drops the JSON output; the uploads continue.
    func write(
        _ event: String, _ members: JSONObject, response: JSONObject, to jsonOutput: inout JSONOutput?, _ exit: Exit
    ) -> Exit {
        guard let json = jsonOutput else { return exit }
        do throws(CommandFailure) {
            try json.write(event, members, response: response)
            return exit
        } catch {
            jsonOutput = nil
            failure(error.message)
            return exit == .done ? error.exit : exit
        }
    }

    /// Warns that `-k` is set.
    func warnInsecure() {
        line("warning: -k disables certificate verification. An attacker can read and change the upload.")
    }
}

/// The lines at the bottom of a terminal, with the cursor at the end of the last one.
enum BarBlock {
    /// Returns the control sequence that erases the lines. A terminal narrower than a line has wrapped it.
    static func erasing(_ lines: [String], columns: Int) -> String {
        let rows = lines.reduce(0) { $0 + max(1, (TerminalText.columns(of: $1) + columns - 1) / columns) }
        return rows > 1 ? "\r\u{1B}[\(rows - 1)A\u{1B}[J" : "\r\u{1B}[K"
    }
}

/// Writes all bytes to file descriptors.
enum Output {
    /// Writes a string and ignores errors.
    static func write(_ text: String, to descriptor: Int32) {
        _ = write(Array(text.utf8), to: descriptor)
    }

    /// Writes bytes.
    ///
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
