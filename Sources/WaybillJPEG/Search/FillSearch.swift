import Glibc

/// A file that was written.
struct Encoded {
    let bytes: [UInt8]
    let size: PictureSize
    let factor: Double
}

/// Writes one size again and again until the limit is nearly full, and keeps the largest file that fits.
///
/// First the factor moves, until the file is within three percent. A factor can't do better: at fine quality a single
/// table entry that steps from 3 to 4 is worth four percent. Then the factor stays and the quantiser's fidelity moves,
/// which is smooth in bytes.
struct FillSearch {
    private let rules: SearchRules
    private let prepared: Prepared
    private let flag: StopFlag
    private var target: Double
    private var factor: Double
    private var fidelity = 0.0
    private var script: ScanScript?
    private var factors: Bracket
    private var fidelities: Bracket?
    private var isFidelityUseless = false
    private(set) var best: Encoded?
    private(set) var smallest = Int.max

    init(_ prepared: Prepared, rules: SearchRules, flag: StopFlag) {
        self.prepared = prepared
        self.rules = rules
        self.flag = flag
        target = rules.aimedFill * Double(rules.limit)
        factor = prepared.factor
        factors = Bracket(slope: prepared.slope, slopes: -4...(-0.15))
    }

    /// Writes until the limit is filled.
    ///
    /// - Returns: The largest file that fits, or `nil` when none did.
    /// - Throws: ``JPEGError`` when cancelled.
    mutating func run() throws(JPEGError) -> Encoded? {
        for attempt in 0..<rules.mostWrites + Self.extraWrites {
            let count = try write(isFirst: attempt == 0)
            let isFitting = count <= rules.limit
            if isFitting, Double(count) >= rules.goodFill * Double(rules.limit) { break }
            if attempt >= rules.mostWrites - 1, isFair { break }
            // Nothing finer is allowed, so the limit stays unfilled.
            if isFitting, factor <= rules.factors.lowerBound { break }
            if !isFitting, factor >= rules.factors.upperBound { break }
            if best == nil, attempt >= 2 { target *= 0.99 }
            guard step(Double(count), isFitting: isFitting) else { break }
        }
        return best
    }

    /// Writes beyond the usual number, for pictures whose size jumps so much that none came near the limit.
    private static let extraWrites = 4

    /// Whether what was found will do when the usual number of writes is spent.
    private var isFair: Bool { Double(best?.bytes.count ?? 0) >= 0.985 * Double(rules.limit) }

    private mutating func write(isFirst: Bool) throws(JPEGError) -> Int {
        let quantiser = Quantiser(usesTrellis: rules.usesTrellis, fidelity: fidelity)
        let levels =
            isFirst
            ? prepared.levels
            : try LevelImage(
                prepared.image, factor: factor, quantiser: quantiser, flag: flag, replacing: prepared.levels)
        var written: [UInt8] = []
        // The script that is smallest once is smallest nearby too.
        for candidate in script.map({ [$0] }) ?? rules.scripts {
            let bytes = try JPEGWriter.write(levels, prepared.image, script: candidate, flag: flag)
            guard written.isEmpty || bytes.count < written.count else { continue }
            written = bytes
            script = candidate
        }
        smallest = min(smallest, written.count)
        if written.count <= rules.limit, written.count > best?.bytes.count ?? 0 {
            let size = PictureSize(width: levels.width, height: levels.height)
            best = Encoded(bytes: written, size: size, factor: factor)
        }
        return written.count
    }

    /// Decides what to write next.
    ///
    /// - Returns: `false` when nothing is left to try.
    private mutating func step(_ bytes: Double, isFitting: Bool) -> Bool {
        if fidelities == nil {
            factors.note(log(factor), bytes, isFitting: isFitting)
            guard !isFidelityUseless, abs(bytes / target - 1) < 0.03 || factors.isNarrow else {
                return stepFactor(bytes)
            }
            startFidelities(bytes, isFitting: isFitting)
        } else {
            fidelities?.note(fidelity, bytes, isFitting: isFitting)
        }
        let range = rules.usesTrellis ? -0.5...3.0 : -1.5...2.0
        guard let wanted = fidelities?.next(after: fidelity, bytesHere(bytes), target: target) else { return false }
        let next = min(range.upperBound, max(range.lowerBound, wanted))
        if abs(next - fidelity) > 0.002 {
            fidelity = next
            return true
        }
        // Text of one pixel's width has no bits to trade; only the factor moves its size.
        guard !isFitting, !factors.isNarrow else { return false }
        isFidelityUseless = true
        fidelities = nil
        fidelity = 0
        return stepFactor(bytes)
    }

    private mutating func stepFactor(_ bytes: Double) -> Bool {
        let next = rules.clamped(exp(factors.next(after: log(factor), bytes, target: target)))
        defer { factor = next }
        return abs(next / factor - 1) > 1e-4
    }

    /// Stays at the last factor, or at the one that fitted when a step of the table lies between it and the last.
    private mutating func startFidelities(_ bytes: Double, isFitting: Bool) {
        var start = Bracket(slope: rules.usesTrellis ? 0.11 : 0.06, slopes: 0.03...0.4)
        if factors.isNarrow, let best {
            factor = best.factor
            start.note(0, Double(best.bytes.count), isFitting: true)
        } else {
            start.note(0, bytes, isFitting: isFitting)
        }
        fidelities = start
    }

    /// The size that belongs to the present fidelity: the last one written, or the best where the factor went back.
    private func bytesHere(_ bytes: Double) -> Double {
        fidelity == 0 && factors.isNarrow ? Double(best?.bytes.count ?? Int(bytes)) : bytes
    }
}

/// Where the target lies, as far as is known: the ends that were tried, and the slope of ln bytes between the last two.
private struct Bracket {
    private(set) var slope: Double
    private let slopes: ClosedRange<Double>
    private var fitting: Double?
    private var tooBig: Double?
    private var last: (position: Double, bytes: Double)?

    init(slope: Double, slopes: ClosedRange<Double>) {
        self.slope = slope
        self.slopes = slopes
    }

    /// Whether a fitting position and one that is too big are so close that only a step can lie between.
    var isNarrow: Bool {
        guard let fitting, let tooBig else { return false }
        return abs(fitting - tooBig) < 0.006
    }

    mutating func note(_ position: Double, _ bytes: Double, isFitting: Bool) {
        if let last, abs(position - last.position) > 1e-4 {
            let found = log(bytes / last.bytes) / (position - last.position)
            slope = min(slopes.upperBound, max(slopes.lowerBound, found))
        }
        last = (position, bytes)
        // Of two positions on the same side the nearer to the other side counts; sizes fall or rise with the slope.
        let isRising = slope > 0
        if isFitting {
            fitting = isRising ? max(fitting ?? position, position) : min(fitting ?? position, position)
        } else {
            tooBig = isRising ? min(tooBig ?? position, position) : max(tooBig ?? position, position)
        }
    }

    func next(after position: Double, _ bytes: Double, target: Double) -> Double {
        let next = position + log(target / bytes) / slope
        guard let fitting, let tooBig else { return next }
        let (low, high) = (min(fitting, tooBig), max(fitting, tooBig))
        return next > low && next < high ? next : (low + high) / 2
    }
}
