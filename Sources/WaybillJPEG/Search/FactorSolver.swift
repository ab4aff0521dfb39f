import Glibc

/// Finds the factor at which an image has a given size, with secant steps on the logarithms of both.
enum FactorSolver {
    struct Solution {
        var factor: Double
        var bytes: Double
        /// d ln bytes / d ln factor near the solution.
        var slope: Double
        /// Whether the target size was reached, as opposed to the end of the range.
        var isMet: Bool
    }

    /// Finds a factor for `target` bytes within `tolerance` (0.02 is two percent), or ends at a bound of the range.
    static func solve(
        target: Double, from start: Double, within range: ClosedRange<Double>, tolerance: Double,
        estimate: (Double) -> Double
    ) -> Solution {
        var factor = min(range.upperBound, max(range.lowerBound, start))
        var slope = -0.7
        var last: (factor: Double, bytes: Double)?
        var tooSmall: Double?  // the finest factor that fits
        var tooBig: Double?  // the coarsest factor that does not fit
        var bytes = 0.0
        for _ in 0..<8 {
            bytes = estimate(factor)
            if let last, abs(log(factor / last.factor)) > 1e-4 {
                slope = min(-0.2, max(-3, log(bytes / last.bytes) / log(factor / last.factor)))
            }
            last = (factor, bytes)
            let isSettled = abs(bytes / target - 1) <= tolerance
            let isAtEnd =
                bytes > target ? factor >= range.upperBound : factor <= range.lowerBound
            if isSettled || isAtEnd {
                return Solution(factor: factor, bytes: bytes, slope: slope, isMet: isSettled)
            }
            if bytes > target {
                tooBig = max(tooBig ?? 0, factor)
            } else {
                tooSmall = min(tooSmall ?? .infinity, factor)
            }
            var next = factor * exp(log(target / bytes) / slope)
            if let tooBig, let tooSmall, next <= tooBig || next >= tooSmall { next = (tooBig * tooSmall).squareRoot() }
            factor = min(range.upperBound, max(range.lowerBound, next))
        }
        return Solution(factor: factor, bytes: bytes, slope: slope, isMet: abs(bytes / target - 1) <= 0.1)
    }
}
