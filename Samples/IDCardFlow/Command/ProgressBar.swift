import Foundation
import Glibc
import Waybill

/// Shows progress as a bar that moves on a terminal, as a line for each quarter elsewhere.
final class ProgressBar {
    private let label: String
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private var quartersShown = -1

    init(label: String) { self.label = label }

    func show(_ progress: UploadProgress) {
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
            say("  \(label) \(percent) %  \(amount(progress))")
        }
    }

    private func amount(_ progress: UploadProgress) -> String {
        let rate = ByteCount(bytes: Int64(progress.bytesPerSecond))
        let total = progress.total.map { " of \(ByteCount(bytes: $0))" } ?? ""
        return "\(ByteCount(bytes: progress.acknowledged))\(total) acknowledged, \(rate)/s"
    }
}

/// Prints a line at once: a pipe is watched too.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

enum Wording {
    /// A duration to a tenth of a second.
    static func seconds(_ duration: Duration) -> String {
        let parts = duration.components
        return String(format: "%.1f s", Double(parts.seconds) + Double(parts.attoseconds) / 1e18)
    }
}
