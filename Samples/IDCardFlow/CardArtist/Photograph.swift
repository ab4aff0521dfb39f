/// A simulated hand-held photo of a card on a desk: skewed, unevenly lit, with noise.
struct Photograph: Sendable {
    /// RGB, three bytes per pixel.
    let pixels: [UInt8]
    let width: Int
    let height: Int

    /// The position of the card and the light.
    struct View: Sendable {
        /// The corners as fractions of the width and height, clockwise from the upper left.
        let corners: [Point]
        /// The center of the light as fractions of the width and height.
        let light: Point
        /// The Exif orientation of the stored photo.
        let orientation: Int
        let seed: UInt32
    }

    /// Renders the photo in independent bands.
    static func take(of card: Canvas, _ view: View, width: Int, height: Int) async -> Photograph {
        let camera = Camera(card: card, view: view, width: width, height: height)
        let bandHeight = 128
        let bands = await withTaskGroup(of: (Int, [UInt8]).self) { group in
            for top in stride(from: 0, to: height, by: bandHeight) {
                group.addTask { (top, camera.band(top..<min(top + bandHeight, height))) }
            }
            return await group.reduce(into: [Int: [UInt8]]()) { $0[$1.0] = $1.1 }
        }
        var pixels: [UInt8] = []
        pixels.reserveCapacity(width * height * 3)
        for top in stride(from: 0, to: height, by: bandHeight) { pixels += bands[top]! }
        return Photograph(pixels: pixels, width: width, height: height)
    }
}

/// Computes the color of each pixel of a photo.
private struct Camera: Sendable {
    let card: Canvas
    let view: Photograph.View
    let width: Int
    let height: Int
    /// The size of the upright photo.
    let uprightSize: Point
    let toCard: Homography
    let desk: Desk

    init(card: Canvas, view: Photograph.View, width: Int, height: Int) {
        self.card = card
        self.view = view
        self.width = width
        self.height = height
        let isTurned = view.orientation >= 5
        uprightSize = isTurned ? Point(Float(height), Float(width)) : Point(Float(width), Float(height))
        let size = uprightSize
        toCard = Homography(
            from: view.corners.map { $0 * size },
            to: [
                Point(0, 0), Point(Float(card.width), 0), Point(Float(card.width), Float(card.height)),
                Point(0, Float(card.height)),
            ])
        desk = Desk(unit: 4_032 / max(size.x, size.y), seed: view.seed)
    }

    func band(_ rows: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(rows.count * width * 3)
        for row in rows {
            for column in 0..<width {
                let color = light(upright(column, row))
                for channel in 0..<3 {
                    // The sum of two uniform numbers has a triangular distribution, similar to sensor noise.
                    let bits = Hash.bits(Int32(column), Int32(row), view.seed &+ UInt32(channel))
                    let noise = Float(bits & 0xFFFF) + Float(bits >> 16) - 65_535
                    let value = color[channel] * 255 + noise / 65_535 * (5.2 - 2 * color[channel])
                    bytes.append(UInt8(min(max(value, 0), 255)))
                }
            }
        }
        return bytes
    }

    /// Maps a stored pixel to the upright photo.
    private func upright(_ column: Int, _ row: Int) -> Point {
        let (x, y) = (Float(column) + 0.5, Float(row) + 0.5)
        return switch view.orientation {
        case 3: Point(Float(width) - x, Float(height) - y)
        case 6: Point(Float(height) - y, x)
        case 8: Point(y, Float(width) - x)
        default: Point(x, y)
        }
    }

    private func light(_ position: Point) -> Color {
        let onCard = toCard.map(position)
        let edge = outside(onCard)
        let away = (position / uprightSize - view.light) * Point(1, 0.8)
        let falloff = 1.06 - 0.62 * (away * away).sum()
        // The print, the rim of the plastic and the desk blend over two pixels each.
        let rim = Color(0.90, 0.90, 0.88)
        if edge < 1 {
            return (edge < -1 ? print(onCard, away) : print(onCard, away).mixed(with: rim, (edge + 1) / 2)) * falloff
        }
        if edge < 2 { return rim * falloff }
        let ground = self.ground(position, onCard)
        return (edge < 4 ? rim.mixed(with: ground, (edge - 2) / 2) : ground) * falloff
    }

    /// Returns the color of the card, with a streak of gloss.
    private func print(_ onCard: Point, _ away: Point) -> Color {
        let streak = away.x * 0.8 + away.y - 0.04
        return card.sample(onCard.x, onCard.y) * 0.95 + 0.10 * exponential(-streak * streak * 60)
    }

    /// Returns the color of the desk, with the shadow of the card.
    private func ground(_ position: Point, _ onCard: Point) -> Color {
        let shadow = max(outside(onCard - Point(0.010, 0.020) * Float(card.width)) / Float(card.width), 0)
        return desk.color(position) * (1 - 0.62 * exponential(-shadow * shadow * 2_400))
    }

    /// Returns the distance of a point from the rounded card in card pixels; negative inside.
    private func outside(_ position: Point) -> Float {
        let radius = 3.18 * card.scale
        let half = Point(Float(card.width), Float(card.height)) / 2
        let offset = position - half
        let beyond = Point(abs(offset.x), abs(offset.y)) - half + radius
        let corner = Point(max(beyond.x, 0), max(beyond.y, 0))
        return (corner * corner).sum().squareRoot() + min(max(beyond.x, beyond.y), 0) - radius
    }
}

/// A desk of wooden planks.
struct Desk: Sendable {
    /// The number of pixels of a full-size photo per pixel of this photo.
    let unit: Float
    let seed: UInt32

    func color(_ pixel: Point) -> Color {
        let position = pixel * unit
        let plank = (position.y / 760).rounded(.down)
        let x = position.x + plank * 1_371
        let bend = Hash.noise(x * 0.0016, position.y * 0.004, seed)
        let grain = Hash.noise(x * 0.004, position.y * 0.05 + bend * 9, seed &+ 1)
        let fibre = Hash.noise(x * 0.022, position.y * 0.55, seed &+ 2)
        let rings = sine((position.y * 0.011 + bend * 3.4) * 6.2)
        let tone = 0.34 + 0.30 * grain + 0.10 * rings + 0.22 * (fibre - 0.5)
        let own = 0.08 * Hash.unit(Int32(plank), 0, seed)
        let seam = min(position.y - plank * 760, (plank + 1) * 760 - position.y)
        let wood = Color(0.26, 0.155, 0.09).mixed(with: Color(0.68, 0.49, 0.31), tone + own)
        return seam < 5 ? wood * 0.45 : wood
    }
}
