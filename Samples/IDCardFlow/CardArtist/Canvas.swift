/// The pixels of a card face. Coordinates are in millimeters, independent of the resolution.
struct Canvas {
    /// Pixels per millimeter.
    let scale: Float
    let width: Int
    let height: Int
    private(set) var pixels: [Color]

    /// The size of a card (ISO/IEC 7810, ID-1).
    static let cardSize = Point(85.6, 53.98)

    init(scale: Float) {
        self.scale = scale
        width = Int(Self.cardSize.x * scale)
        height = Int(Self.cardSize.y * scale)
        pixels = [Color](repeating: Color(repeating: 1), count: width * height)
    }

    /// Paints all pixels with a function of the point in millimeters.
    mutating func paint(_ color: (Point) -> Color) {
        for row in 0..<height {
            for column in 0..<width {
                pixels[row * width + column] = color(Point(Float(column) + 0.5, Float(row) + 0.5) / scale)
            }
        }
    }

    /// Blends a color into the pixels of a mask.
    mutating func lay(_ color: Color, on mask: Mask, opacity: Float = 1) {
        lay(on: mask, opacity: opacity) { _ in color }
    }

    /// Blends colors into the pixels of a mask, with a function of the point in millimeters.
    mutating func lay(on mask: Mask, opacity: Float = 1, _ color: (Point) -> Color) {
        for row in 0..<mask.height {
            for column in 0..<mask.width {
                let share = mask.coverage[row * mask.width + column] * opacity
                guard share > 0 else { continue }
                let (x, y) = (mask.left + column, mask.top + row)
                let index = y * width + x
                let position = Point(Float(x) + 0.5, Float(y) + 0.5) / scale
                pixels[index] = pixels[index].mixed(with: color(position), share)
            }
        }
    }

    /// Fills an outline.
    mutating func fill(_ outline: Outline, _ color: Color, opacity: Float = 1) {
        fill(outline, opacity: opacity) { _ in color }
    }

    /// Fills an outline with a function of the point.
    mutating func fill(_ outline: Outline, opacity: Float = 1, _ color: (Point) -> Color) {
        var mask = Mask(around: [outline], on: self)
        mask.fill(outline)
        lay(on: mask, opacity: opacity, color)
    }

    /// Draws lines with one pen.
    mutating func stroke(_ outlines: [Outline], pen: Float, _ color: Color, opacity: Float = 1) {
        guard !outlines.isEmpty else { return }
        var mask = Mask(around: outlines, pen: pen, on: self)
        for outline in outlines { mask.stroke(outline, pen: pen) }
        lay(color, on: mask, opacity: opacity)
    }

    /// Fills a box between two corners.
    mutating func box(_ from: Point, _ to: Point, _ color: Color, opacity: Float = 1) {
        fill(Outline([from, Point(to.x, from.y), to, Point(from.x, to.y)], closed: true), color, opacity: opacity)
    }

    /// Returns the bilinear interpolation at a point in pixels.
    func sample(_ x: Float, _ y: Float) -> Color {
        let (left, top) = (max(x - 0.5, 0), max(y - 0.5, 0))
        let (column, row) = (min(Int(left), width - 2), min(Int(top), height - 2))
        let (u, v) = (min(left - Float(column), 1), min(top - Float(row), 1))
        let index = row * width + column
        let upper = pixels[index] + (pixels[index + 1] - pixels[index]) * u
        let lower = pixels[index + width] + (pixels[index + width + 1] - pixels[index + width]) * u
        return upper + (lower - upper) * v
    }
}
