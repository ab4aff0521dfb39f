import ArgumentParser

/// How often progress is printed where no bar can be drawn.
struct ProgressOptions: ParsableArguments {
    @Option(
        name: .customLong("progress-interval"),
        help: ArgumentHelp(
            "Without a terminal, print a line of progress this often: 30s, 5m; 0 for none. 1m unless set. With --json, an object, 1s unless set.",
            valueName: "time"))
    var interval: String?

    /// The time between two lines, or two objects with `--json`; `nil` for none.
    func interval(isJSON: Bool) throws(CommandFailure) -> Duration? {
        guard let interval else { return isJSON ? .seconds(1) : .seconds(60) }
        return interval == "0" ? nil : try DurationArgument.read(interval, for: "--progress-interval")
    }
}
