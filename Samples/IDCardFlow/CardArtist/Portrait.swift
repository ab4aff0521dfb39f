/// The face of a fictitious person in a frame of 24 by 32 millimeters.
struct Portrait {
    let origin: Point
    /// The scale; 1 is full size.
    let scale: Float
    /// The opacity; the secondary portrait has less than 1.
    let opacity: Float

    private static let size = Point(24, 32)
    private static let skin = Color(0.90, 0.72, 0.60)
    private static let hair = Color(0.19, 0.12, 0.09)

    func draw(on canvas: inout Canvas) {
        background(on: &canvas)
        clothes(on: &canvas)
        fill(Self.hairBehind, on: &canvas) { point in Self.hair.mixed(with: Color(0.33, 0.21, 0.14), point.x / 40) }
        head(on: &canvas)
        eyes(on: &canvas)
        noseAndMouth(on: &canvas)
        fringe(on: &canvas)
    }

    // MARK: Layers, from the back to the front

    private func background(on canvas: inout Canvas) {
        let frame = Outline(
            [Point(0, 0), Point(Self.size.x, 0), Self.size, Point(0, Self.size.y)], closed: true)
        fill(frame, on: &canvas) { point in
            Color(0.90, 0.94, 0.97).mixed(with: Color(0.66, 0.75, 0.84), point.y / 40 + abs(point.x - 12) / 60)
        }
    }

    private func clothes(on canvas: inout Canvas) {
        let neck = Outline(
            [
                Point(9.4, 17), Point(14.6, 17), Point(14.8, 22.5), Point(16.5, 24), Point(12, 29), Point(7.5, 24),
                Point(9.2, 22.5),
            ],
            closed: true)
        fill(neck, on: &canvas) { point in
            Self.skin.mixed(with: Color(0.62, 0.44, 0.36), 0.75 - abs(point.y - 24) / 14)
        }
        let jacket = Outline(
            [
                Point(0, 32), Point(0, 28.2), Point(2.4, 26.2), Point(6.6, 24.6), Point(8.4, 23.2), Point(12, 30),
                Point(15.6, 23.2), Point(17.4, 24.6), Point(21.6, 26.2), Point(24, 28.2), Point(24, 32),
            ], closed: true)
        fill(jacket, on: &canvas) { point in
            Color(0.13, 0.19, 0.33).mixed(with: Color(0.24, 0.31, 0.47), (point.x - 4) / 22)
        }
        let collar = Outline([Point(8.3, 22.8), Point(12, 30), Point(9.6, 31), Point(6.6, 24.8)], closed: true)
        for side in [collar, collar.mirrored(at: 12)] { fill(side, on: &canvas) { _ in Color(0.94, 0.94, 0.92) } }
    }

    private func head(on canvas: inout Canvas) {
        fill(Self.face, on: &canvas) { point in
            let side = (point.x - 9.5) / 11
            let low = max(0, point.y - 16) / 16
            return Color(0.95, 0.79, 0.67).mixed(with: Color(0.74, 0.54, 0.44), side * side + low)
        }
        for x: Float in [8.3, 15.7] {
            for ring in 1...5 {
                let radius = Float(ring) * 0.42
                fill(Outline(center: Point(x, 15.4), radii: Point(radius, radius * 0.8)), on: &canvas, share: 0.05) {
                    _ in
                    Color(0.86, 0.38, 0.34)
                }
            }
        }
    }

    private func eyes(on canvas: inout Canvas) {
        let almond = Outline(
            [Point(7.9, 12.2), Point(9.3, 11.3), Point(10.8, 12.1), Point(9.4, 12.9)], closed: true
        ).smoothed()
        let lid = Outline([Point(7.8, 12.3), Point(8.5, 11.5), Point(9.6, 11.3), Point(10.9, 12.1)]).smoothed()
        let brow = Outline([Point(7.4, 10.4), Point(8.7, 9.7), Point(10.8, 10.1)]).smoothed()
        for isRight in [false, true] {
            let turn = { (line: Outline) in isRight ? line.mirrored(at: 12) : line }
            let x: Float = isRight ? 14.6 : 9.4
            fill(turn(almond), on: &canvas) { _ in Color(0.97, 0.96, 0.94) }
            fill(Outline(center: Point(x, 12.05), radii: Point(0.62, 0.66)), on: &canvas) { _ in Color(0.29, 0.19, 0.11)
            }
            fill(Outline(center: Point(x, 12.05), radii: Point(0.3, 0.32)), on: &canvas) { _ in Color(0.04, 0.03, 0.03)
            }
            fill(Outline(center: Point(x - 0.2, 11.8), radii: Point(0.14, 0.14)), on: &canvas) { _ in
                Color(repeating: 1)
            }
            stroke([turn(lid)], pen: 0.26, Color(0.17, 0.10, 0.08), on: &canvas)
            stroke([turn(brow)], pen: 0.5, Self.hair, on: &canvas, share: 0.85)
        }
    }

    private func noseAndMouth(on canvas: inout Canvas) {
        let nose = Outline([Point(12.6, 12), Point(12.9, 14.2), Point(13.2, 15.1), Point(12, 15.5), Point(11.3, 15.2)])
        stroke([nose.smoothed()], pen: 0.28, Color(0.62, 0.42, 0.34), on: &canvas, share: 0.6)
        let lips = Outline(
            [
                Point(9.7, 17.3), Point(11.2, 16.7), Point(12, 16.95), Point(12.8, 16.7), Point(14.3, 17.3),
                Point(12.9, 18.2), Point(11.1, 18.2),
            ], closed: true
        ).smoothed(2)
        fill(lips, on: &canvas) { point in Color(0.78, 0.36, 0.36).mixed(with: Color(0.86, 0.5, 0.47), point.y - 17.3) }
        let line = Outline([
            Point(9.9, 17.3), Point(11.3, 17.4), Point(12, 17.32), Point(12.7, 17.4), Point(14.1, 17.3),
        ])
        stroke([line.smoothed()], pen: 0.14, Color(0.45, 0.17, 0.18), on: &canvas)
    }

    private func fringe(on canvas: inout Canvas) {
        let front = Outline(
            [
                Point(5.6, 15.5), Point(5.2, 9), Point(7.2, 4.6), Point(12, 3), Point(16.8, 4.6), Point(18.8, 9),
                Point(18.4, 15.5), Point(17.4, 11.4), Point(15.6, 7.9), Point(12.6, 6.6), Point(9.4, 8.6),
                Point(6.9, 11),
            ], closed: true
        ).smoothed()
        fill(front, on: &canvas) { point in Self.hair.mixed(with: Color(0.36, 0.23, 0.15), 1 - abs(point.x - 9) / 5) }
        let strands = (0..<9).map { strand in
            let x = 7.4 + Float(strand) * 1.05
            return Outline([Point(x + 1.1, 4.1), Point(x + 0.3, 5.2), Point(x - 0.3, 6.4)]).smoothed()
        }
        stroke(strands, pen: 0.12, Color(0.45, 0.30, 0.2), on: &canvas, share: 0.35)
    }

    // MARK: Shapes

    private static let face = Outline(
        [
            Point(12, 21), Point(8.9, 19.9), Point(6.9, 16.6), Point(6.3, 11.5), Point(7.2, 7.2), Point(12, 4.2),
            Point(16.8, 7.2), Point(17.7, 11.5), Point(17.1, 16.6), Point(15.1, 19.9),
        ], closed: true
    ).smoothed()

    private static let hairBehind = Outline(
        [
            Point(12, 2), Point(17.6, 3.4), Point(20, 9), Point(20, 16), Point(20.4, 23.4), Point(16, 24),
            Point(12, 21),
            Point(8, 24), Point(3.6, 23.4), Point(4, 16), Point(4, 9), Point(6.4, 3.4),
        ], closed: true
    ).smoothed()

    // MARK: Brushes in portrait coordinates

    private func fill(
        _ outline: Outline, on canvas: inout Canvas, share: Float = 1, _ color: (Point) -> Color
    ) {
        canvas.fill(outline.placed(at: origin, scale: scale), opacity: opacity * share) { point in
            color((point - origin) / scale)
        }
    }

    private func stroke(
        _ outlines: [Outline], pen: Float, _ color: Color, on canvas: inout Canvas, share: Float = 1
    ) {
        canvas.stroke(
            outlines.map { $0.placed(at: origin, scale: scale) }, pen: pen * scale, color, opacity: opacity * share)
    }
}
