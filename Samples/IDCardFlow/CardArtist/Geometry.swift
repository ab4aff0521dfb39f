/// A point on the card, in millimeters from the upper left corner.
typealias Point = SIMD2<Float>

/// Red, green and blue, each from 0 to 1.
typealias Color = SIMD3<Float>

extension Color {
    /// Returns a mixture: 0 is this color, 1 is the other.
    func mixed(with other: Color, _ share: Float) -> Color {
        self + (other - self) * Swift.min(Swift.max(share, 0), 1)
    }

    /// Returns the color of a hue from 0 to 1.
    static func hue(_ turn: Float) -> Color {
        let sector = (turn - turn.rounded(.down)) * 6
        func ramp(_ offset: Float) -> Float {
            let distance = abs((sector + offset).truncatingRemainder(dividingBy: 6) - 3) - 1
            return Swift.min(Swift.max(distance, 0), 1)
        }
        return Color(ramp(0), ramp(4), ramp(2))
    }
}

/// A line through points, open or closed.
struct Outline {
    var points: [Point]
    var isClosed: Bool

    init(_ points: [Point], closed: Bool = false) {
        self.points = points
        isClosed = closed
    }

    /// Creates an ellipse.
    init(center: Point, radii: Point) {
        self.init(
            (0..<48).map { step in
                let angle = Float(step) / 48 * 2 * .pi
                return center + radii * Point(cosine(angle), sine(angle))
            }, closed: true)
    }

    /// Returns a line with rounder corners (Chaikin's corner cutting). The ends of an open line are kept.
    func smoothed(_ rounds: Int = 3) -> Outline {
        guard rounds > 0, points.count > 2 else { return self }
        var cut: [Point] = []
        let pairs = isClosed ? points.count : points.count - 1
        for index in 0..<pairs {
            let (from, to) = (points[index], points[(index + 1) % points.count])
            cut.append(from * 0.75 + to * 0.25)
            cut.append(from * 0.25 + to * 0.75)
        }
        if !isClosed {
            cut[0] = points[0]
            cut[cut.count - 1] = points[points.count - 1]
        }
        return Outline(cut, closed: isClosed).smoothed(rounds - 1)
    }

    /// Returns a scaled and translated line.
    func placed(at origin: Point, scale: Float) -> Outline {
        Outline(points.map { $0 * scale + origin }, closed: isClosed)
    }

    /// Returns a line mirrored at a vertical axis.
    func mirrored(at x: Float) -> Outline {
        Outline(points.map { Point(2 * x - $0.x, $0.y) }, closed: isClosed)
    }
}

/// A projective map of the plane, defined by four pairs of points.
struct Homography: Sendable {
    private let entries: [Float]

    init(from: [Point], to: [Point]) {
        // Eight linear equations with eight unknowns; the ninth entry is 1.
        var rows: [[Double]] = []
        for (source, target) in zip(from, to) {
            let (x, y, u, v) = (Double(source.x), Double(source.y), Double(target.x), Double(target.y))
            rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y, u])
            rows.append([0, 0, 0, x, y, 1, -v * x, -v * y, v])
        }
        for pivot in 0..<8 {
            let best = (pivot..<8).max { abs(rows[$0][pivot]) < abs(rows[$1][pivot]) }!
            rows.swapAt(pivot, best)
            let divisor = rows[pivot][pivot]
            rows[pivot] = rows[pivot].map { $0 / divisor }
            for row in 0..<8 where row != pivot {
                let factor = rows[row][pivot]
                for column in 0..<9 { rows[row][column] -= factor * rows[pivot][column] }
            }
        }
        entries = rows.map { Float($0[8]) }
    }

    func map(_ point: Point) -> Point {
        let depth = entries[6] * point.x + entries[7] * point.y + 1
        return Point(
            (entries[0] * point.x + entries[1] * point.y + entries[2]) / depth,
            (entries[3] * point.x + entries[4] * point.y + entries[5]) / depth)
    }
}
