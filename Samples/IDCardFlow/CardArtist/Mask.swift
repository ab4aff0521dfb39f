/// The coverage of pixels by a shape, from 0 to 1, within the bounding box.
struct Mask {
    let left: Int
    let top: Int
    let width: Int
    let height: Int
    private(set) var coverage: [Float]
    private let scale: Float

    /// Creates a mask for shapes between two corners in millimeters.
    init(from upperLeft: Point, to lowerRight: Point, on canvas: Canvas) {
        scale = canvas.scale
        left = max(0, Int((upperLeft.x * scale).rounded(.down)) - 2)
        top = max(0, Int((upperLeft.y * scale).rounded(.down)) - 2)
        width = max(0, min(canvas.width, Int((lowerRight.x * scale).rounded(.up)) + 2) - left)
        height = max(0, min(canvas.height, Int((lowerRight.y * scale).rounded(.up)) + 2) - top)
        coverage = [Float](repeating: 0, count: width * height)
    }

    /// Creates a mask for outlines drawn with a pen of the given width.
    init(around outlines: [Outline], pen: Float = 0, on canvas: Canvas) {
        var (low, high) = (Point(repeating: .infinity), Point(repeating: -.infinity))
        for point in outlines.lazy.flatMap(\.points) {
            low = Point(min(low.x, point.x), min(low.y, point.y))
            high = Point(max(high.x, point.x), max(high.y, point.y))
        }
        self.init(from: low - pen, to: high + pen, on: canvas)
    }

    /// Draws a line with a round pen. Crossings are covered once.
    mutating func stroke(_ outline: Outline, pen: Float) {
        let origin = Point(Float(left), Float(top))
        let points = outline.points.map { $0 * scale - origin }
        let radius = max(pen * scale / 2, 0.35)
        let segments = outline.isClosed ? points.count : max(points.count - 1, 1)
        for index in 0..<segments { segment(points[index], points[(index + 1) % points.count], radius) }
    }

    /// Fills a closed outline (even-odd), with four scan lines per pixel.
    mutating func fill(_ outline: Outline) {
        let origin = Point(Float(left), Float(top))
        let points = outline.points.map { $0 * scale - origin }
        for row in 0..<height {
            for part in 0..<4 { fillLine(row, at: Float(row) + (Float(part) + 0.5) / 4, points) }
        }
    }

    private mutating func segment(_ from: Point, _ to: Point, _ radius: Float) {
        let reach = radius + 1
        let columns = span(from.x, to.x, reach, within: width)
        let rows = span(from.y, to.y, reach, within: height)
        let along = to - from
        let square = max((along * along).sum(), 1e-6)
        for row in rows {
            for column in columns {
                let position = Point(Float(column) + 0.5, Float(row) + 0.5) - from
                let share = min(max((position * along).sum() / square, 0), 1)
                let gap = position - along * share
                let covered = min(max(radius + 0.5 - (gap * gap).sum().squareRoot(), 0), 1)
                let index = row * width + column
                if covered > coverage[index] { coverage[index] = covered }
            }
        }
    }

    /// Returns the pixels between two coordinates, extended by `reach`; empty if they are outside.
    private func span(_ from: Float, _ to: Float, _ reach: Float, within size: Int) -> Range<Int> {
        let low = min(max(Int(min(from, to) - reach), 0), size)
        return low..<max(low, min(Int(max(from, to) + reach) + 1, size))
    }

    private mutating func fillLine(_ row: Int, at y: Float, _ points: [Point]) {
        var crossings: [Float] = []
        for index in points.indices {
            let (from, to) = (points[index], points[(index + 1) % points.count])
            guard (from.y <= y) != (to.y <= y) else { continue }
            crossings.append(from.x + (y - from.y) / (to.y - from.y) * (to.x - from.x))
        }
        crossings.sort()
        for pair in stride(from: 0, to: crossings.count - 1, by: 2) {
            let start = min(max(crossings[pair], 0), Float(width))
            let end = min(max(crossings[pair + 1], 0), Float(width))
            for column in Int(start)..<max(Int(start), min(width, Int(end.rounded(.up)))) {
                let covered = min(end, Float(column + 1)) - max(start, Float(column))
                coverage[row * width + column] += max(covered, 0) / 4
            }
        }
    }
}
