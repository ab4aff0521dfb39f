import Glibc

/// A written file.
struct Encoded {
    let bytes: [UInt8]
    let size: PixelSize
    let factor: Double
}

/// Writes one size repeatedly until the limit is nearly used up, and keeps the largest file that fits.
///
/// It first varies the factor until the file is within three percent of the target. The factor cannot get closer: at
/// fine quality, a single table entry that changes from 3 to 4 changes the size by four percent. Then it keeps the
/// factor and varies the quantizer's fidelity, which changes the size continuously.
struct FillSearch {
    private let rules: SearchRules
    private let candidate: EncodingCandidate
    private let flag: CancellationFlag
    private var target: Double
    private var factor: Double
    private var fidelity = 0.0
    private var script: ScanScript?
    private var factors: Bracket
    private var fidelities: Bracket?
    private var isFidelityUseless = false
    private(set) var best: Encoded?
    private(set) var smallest = Int.max

    init(_ candidate: EncodingCandidate, rules: SearchRules, flag: CancellationFlag) {
        self.candidate = candidate
        self.rules = rules
        self.flag = flag
        target = rules.aimedBytes
        factor = candidate.factor
        factors = Bracket(slope: candidate.slope, slopes: -4...(-0.15))
    }

    /// Writes files until the limit is used up.
    ///
    /// - Returns: The largest file that fits, or `nil` if none does.
    /// - Throws: ``JPEGError`` if cancelled.
    mutating func run() throws(JPEGError) -> Encoded? {
        for attempt in 0..<rules.maxWrites + Self.extraWrites {
            let count = try write(isFirst: attempt == 0)
            let isFitting = count <= rules.limit
            if isFitting, Double(count) >= rules.goodFill * Double(rules.limit) { break }
            if attempt >= rules.maxWrites - 1, isAcceptable { break }
            // A finer factor is not allowed, so the limit remains partly unused.
            if isFitting, factor <= rules.factors.lowerBound { break }
            if !isFitting, factor >= rules.factors.upperBound { break }
            // A lower target finds a first file that fits; the next ones are to use up the limit again.
            if best != nil { target = rules.aimedBytes } else if attempt >= 2 { target *= 0.99 }
            guard step(Double(count), isFitting: isFitting) else { break }
        }
        return best
    }

    /// The number of additional writes for images whose size jumps so much that no file came close to the limit.
    private static let extraWrites = 4

    /// Whether the best file is acceptable after the usual number of writes.
    private var isAcceptable: Bool { Double(best?.bytes.count ?? 0) >= 0.985 * Double(rules.limit) }

    private mutating func write(isFirst: Bool) throws(JPEGError) -> Int {
        var quantiser = rules.quantiser
        quantiser.fidelity = fidelity
        let levels =
            isFirst
            ? candidate.levels
            : try QuantisedImage(
                candidate.image, factor: factor, quantiser: quantiser, flag: flag, replacing: candidate.levels)
        var written: [UInt8] = []
        // The script that yields the smallest file once does so for similar factors, too.
        for candidateScript in script.map({ [$0] }) ?? rules.scripts {
            let bytes = try JPEGWriter.write(levels, candidate.image, script: candidateScript, flag: flag)
            guard written.isEmpty || bytes.count < written.count else { continue }
            written = bytes
            script = candidateScript
        }
        smallest = min(smallest, written.count)
        if written.count <= rules.limit, written.count > best?.bytes.count ?? 0 {
            let size = PixelSize(width: levels.width, height: levels.height)
            best = Encoded(bytes: written, size: size, factor: factor)
        }
        return written.count
    }

    /// Determines the next file to write.
    ///
    /// - Returns: `false` if there is nothing left to try.
    private mutating func step(_ bytes: Double, isFitting: Bool) -> Bool {
        if fidelities == nil {
            factors.note(log(factor), bytes, isFitting: isFitting)
            guard factors.isNarrow || !isFidelityUseless && abs(bytes / target - 1) < 0.03 else {
                return stepFactor(bytes)
            }
            startFidelities(bytes, isFitting: isFitting)
        } else {
            fidelities?.note(fidelity, bytes, isFitting: isFitting)
        }
        let range = rules.fidelities
        guard let wanted = fidelities?.next(after: fidelity, bytesHere(bytes), target: target) else { return false }
        let next = min(range.upperBound, max(range.lowerBound, wanted))
        if abs(next - fidelity) > 0.002 {
            fidelity = next
            return true
        }
        // Lines of text one pixel wide offer no bits to save. The factor changes their size; when it jumps across the
        // limit, the finer levels of the file that fits are used.
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

    /// Keeps the last factor, or the one that fits if a change of the table lies between it and the last.
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

    /// Returns the size for the current fidelity: that of the last file, or of the best one if the factor was restored.
    private func bytesHere(_ bytes: Double) -> Double {
        fidelity == 0 && factors.isNarrow ? Double(best?.bytes.count ?? Int(bytes)) : bytes
    }
}

/// The known bounds of the target: the positions tried on both sides, and the slope of ln bytes between the last two.
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

    /// Whether a fitting and a too large position are so close that only a single step can lie between them.
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
        // Of two positions on the same side, keep the one closer to the other side; sizes fall or rise with the slope.
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
