/// The face of a card as pixels. Everything is drawn in millimetres, so a small canvas shows the same picture.
struct Canvas {
    /// Pixels to a millimetre.
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

    /// Paints everything, by a function of the place in millimetres.
    mutating func paint(_ color: (Point) -> Color) {
        for row in 0..<height {
            for column in 0..<width {
                pixels[row * width + column] = color(Point(Float(column) + 0.5, Float(row) + 0.5) / scale)
            }
        }
    }

    /// Lays a colour on what a mask covers.
    mutating func lay(_ color: Color, on mask: Mask, opacity: Float = 1) {
        lay(on: mask, opacity: opacity) { _ in color }
    }

    /// Lays colours on what a mask covers, by a function of the place in millimetres.
    mutating func lay(on mask: Mask, opacity: Float = 1, _ color: (Point) -> Color) {
        for row in 0..<mask.height {
            for column in 0..<mask.width {
                let share = mask.coverage[row * mask.width + column] * opacity
                guard share > 0 else { continue }
                let (x, y) = (mask.left + column, mask.top + row)
                let index = y * width + x
                let place = Point(Float(x) + 0.5, Float(y) + 0.5) / scale
                pixels[index] = pixels[index].mixed(with: color(place), share)
            }
        }
    }

    /// Fills an outline.
    mutating func fill(_ outline: Outline, _ color: Color, opacity: Float = 1) {
        fill(outline, opacity: opacity) { _ in color }
    }

    /// Fills an outline with colours by place.
    mutating func fill(_ outline: Outline, opacity: Float = 1, _ color: (Point) -> Color) {
        var mask = Mask(around: [outline], on: self)
        mask.fill(outline)
        lay(on: mask, opacity: opacity, color)
    }

    /// Draws lines, each with the same pen.
    mutating func stroke(_ outlines: [Outline], pen: Float, _ color: Color, opacity: Float = 1) {
        guard !outlines.isEmpty else { return }
        var mask = Mask(around: outlines, pen: pen, on: self)
        for outline in outlines { mask.stroke(outline, pen: pen) }
        lay(color, on: mask, opacity: opacity)
    }

    /// A box between two corners.
    mutating func box(_ from: Point, _ to: Point, _ color: Color, opacity: Float = 1) {
        fill(Outline([from, Point(to.x, from.y), to, Point(from.x, to.y)], closed: true), color, opacity: opacity)
    }

    /// The colour between the four pixels around a place, given in pixels.
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
