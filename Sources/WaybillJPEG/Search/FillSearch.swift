import Glibc

/// A file that was written.
struct Encoded {
    let bytes: [UInt8]
    let size: PictureSize
    let factor: Double
}

/// Writes one size again and again until the limit is nearly full, and keeps the largest file that fits.
///
/// First the factor moves. When a fitting factor and one that is too fine lie within 0.6 %, a single table entry is
/// what separates them, and no factor lands between; then the factor stays and the trellis pays more for fidelity,
/// which is smooth in bytes.
struct FillSearch {
    private let rules: SearchRules
    private let prepared: Prepared
    private let flag: StopFlag
    private var target: Double
    private var factor: Double
    private var strength = FillSearch.usualStrength
    private var script: ScanScript?
    private var slope: Double
    private var strengthSlope = 0.06
    private var last: (factor: Double, strength: Double, bytes: Double)?
    private var fitting: Double?  // the finest factor that fitted
    private var tooBig: Double?  // the coarsest factor that did not
    private var fittingStrength: Double?
    private var tooMuchStrength: Double?
    private(set) var best: Encoded?
    private(set) var smallest = Int.max

    private static let usualStrength = 14.0
    private static let mostStrength = 17.0

    init(_ prepared: Prepared, rules: SearchRules, flag: StopFlag) {
        self.prepared = prepared
        self.rules = rules
        self.flag = flag
        target = rules.aimedFill * Double(rules.limit)
        factor = prepared.factor
        slope = prepared.slope
    }

    /// - Returns: The largest file that fits, or `nil` when none did.
    mutating func run() throws(JPEGError) -> Encoded? {
        for attempt in 0..<rules.mostWrites {
            let count = try write(isFirst: attempt == 0)
            let isFitting = count <= rules.limit
            if isFitting, Double(count) >= rules.goodFill * Double(rules.limit) { break }
            // Nothing finer is allowed, so the limit stays unfilled.
            if isFitting, factor <= rules.factors.lowerBound { break }
            if !isFitting, factor >= rules.factors.upperBound { break }
            if best == nil, attempt >= 2 { target *= 0.99 }
            guard step(Double(count), isFitting: isFitting) else { break }
        }
        return best
    }

    private mutating func write(isFirst: Bool) throws(JPEGError) -> Int {
        let quantiser = rules.quantiser == .deadZone ? .deadZone : Quantiser.trellis(strength: strength)
        let levels =
            isFirst
            ? prepared.levels
            : try LevelImage(prepared.image, factor: factor, quantiser: quantiser, flag: flag)
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
        defer { last = (factor, strength, bytes) }
        return stepIsOfStrength ? stepStrength(bytes, isFitting: isFitting) : stepFactor(bytes, isFitting: isFitting)
    }

    private var stepIsOfStrength: Bool { fittingStrength != nil }

    private mutating func stepFactor(_ bytes: Double, isFitting: Bool) -> Bool {
        if isFitting { fitting = min(fitting ?? .infinity, factor) } else { tooBig = max(tooBig ?? 0, factor) }
        if let last, abs(log(factor / last.factor)) > 1e-4 {
            slope = min(-0.15, max(-4, log(bytes / last.bytes) / log(factor / last.factor)))
        }
        if let fitting, let tooBig, fitting / tooBig < 1.006, rules.quantiser != .deadZone, let best {
            factor = fitting
            fittingStrength = strength
            last = nil
            strength = next(strength: strength, bytes: Double(best.bytes.count))
            return true
        }
        var next = factor * exp(log(target / bytes) / slope)
        if let fitting, let tooBig {
            let inner = (tooBig * 1.0005)...max(tooBig * 1.0005, fitting * 0.9995)
            if !inner.contains(next) { next = (fitting * tooBig).squareRoot() }
        } else if abs(next / factor - 1) < 0.0005 {
            next = factor * (isFitting ? 0.998 : 1.002)
        }
        next = rules.clamped(next)
        guard next != factor else { return false }
        factor = next
        return true
    }

    private mutating func stepStrength(_ bytes: Double, isFitting: Bool) -> Bool {
        if isFitting {
            fittingStrength = max(fittingStrength ?? 0, strength)
        } else {
            tooMuchStrength = min(tooMuchStrength ?? .infinity, strength)
        }
        if let last, abs(strength - last.strength) > 0.01 {
            strengthSlope = min(0.3, max(0.02, log(bytes / last.bytes) / (strength - last.strength)))
        }
        let next = next(strength: strength, bytes: bytes)
        guard abs(next - strength) > 0.005 else { return false }
        strength = next
        return true
    }

    private func next(strength: Double, bytes: Double) -> Double {
        let low = fittingStrength ?? Self.usualStrength
        let high = tooMuchStrength ?? Self.mostStrength
        let next = strength + log(target / bytes) / strengthSlope
        if tooMuchStrength != nil, next <= low || next >= high { return (low + high) / 2 }
        return min(high, max(low, next))
    }
}
