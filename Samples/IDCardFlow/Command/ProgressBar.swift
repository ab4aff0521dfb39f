import Foundation
import Glibc
import Waybill

/// Shows progress as a bar on a terminal, otherwise as a line per quarter.
final class ProgressBar {
    private let label: String
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private let cutPercent: Int?
    private var quartersShown = -1
    private var isInterrupted = false

    init(label: String, cutPercent: Int? = nil) {
        self.label = label
        self.cutPercent = cutPercent
    }

    func show(_ progress: UploadProgress) {
        showInterruption(progress)
        guard let fraction = progress.fraction, progress.phase != .failed, progress.phase != .cancelled else { return }
        let percent = Int(fraction * 100)
        if isTerminal {
            let filled = Int(fraction * 30)
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
            print(
                "\r  \(bar) \(percent) %  \(amount(progress))\u{1B}[K",
                terminator: progress.phase.isTerminal ? "\n" : "")
            fflush(nil)
        } else if percent / 25 > quartersShown, progress.phase != .connecting {
            quartersShown = percent / 25
            printLine("  \(label) \(percent) %  \(amount(progress))")
        }
    }

    /// Shows that the connection was closed, and where the upload continues.
    private func showInterruption(_ progress: UploadProgress) {
        if let cutPercent, let retry = progress.retry, !isInterrupted {
            isInterrupted = true
            printBelow("connection closed by the backend at \(cutPercent) %; retry in \(Format.seconds(retry.delay))")
        }
        // An attempt begins at the offset of the previous one. Once more is sent, the server has reported its offset.
        if isInterrupted, progress.retry == nil, let stored = progress.stored, progress.sent > stored.bytes {
            isInterrupted = false
            printBelow("upload continues at byte \(stored.bytes) of \(progress.total ?? 0) (stored by the server)")
        }
    }

    private func printBelow(_ line: String) {
        printLine("\(isTerminal ? "\n" : "")  \(label): \(line)")
    }

    private func amount(_ progress: UploadProgress) -> String {
        let rate = ByteCount(bytes: Int64(progress.bytesPerSecond))
        let total = progress.total.map { " of \(ByteCount(bytes: $0))" } ?? ""
        return "\(ByteCount(bytes: progress.acknowledged))\(total) acknowledged, \(rate)/s"
    }
}

/// Prints a line and flushes, because standard output may be a pipe.
func printLine(_ line: String) {
    print(line)
    fflush(nil)
}

enum Format {
    /// Formats a duration with a precision of 0.1 s.
    static func seconds(_ duration: Duration) -> String {
        let parts = duration.components
        return String(format: "%.1f s", Double(parts.seconds) + Double(parts.attoseconds) / 1e18)
    }
}
