import Logging
import Waybill

/// Prints the events of a transfer for `-v`, one per line: `* 0.012 s  attempt ended  attempt=1 status=200`.
struct EventLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace
    private let console: Console
    private let start = ContinuousClock.now

    private init(_ console: Console) {
        self.console = console
    }

    /// Returns a logger that prints all events.
    static func logger(_ console: Console) -> Logger {
        var logger = Logger(label: "waybill") { _ in EventLog(console) }
        logger.logLevel = .trace
        return logger
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
        let facts = all.keys.sorted().compactMap { key in
            all[key].map { "\(key)=\(Self.text(of: $0))" }
        }
        let mark = event.level >= .warning ? "! " : "* "
        let time = Figures.seconds(ContinuousClock.now - start)
        console.line(([mark + time, " \(event.message)"] + facts).joined(separator: " "))
    }

    private static func text(of value: Logger.Metadata.Value) -> String {
        let text = "\(value)"
        return text.contains(" ") ? "\"\(text)\"" : text
    }
}
