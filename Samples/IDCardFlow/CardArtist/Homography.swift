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
