/// Security patterns of a card.
enum Ornaments {
    /// Returns wave lines from edge to edge.
    static func waves(from top: Float, to bottom: Float, lines: Int, phase: Float) -> [Outline] {
        (0..<lines).map { line in
            let share = Float(line) / Float(max(lines - 1, 1))
            let middle = top + (bottom - top) * share
            return Outline(
                (0...140).map { step in
                    let x = Float(step) / 140 * Canvas.cardSize.x
                    let swing =
                        sine(x * 0.19 + phase + share * 2.1) * 1.9 + sine(x * 0.43 - phase * 2 + share * 4) * 0.8
                    return Point(x, middle + swing)
                })
        }
    }

    /// Returns a rosette: one line that oscillates between two circles.
    static func rosette(center: Point, radius: Float, petals: Int, turns: Int) -> Outline {
        let steps = 240 * turns
        return Outline(
            (0..<steps).map { step in
                let angle = Float(step) / Float(steps) * 2 * .pi * Float(turns)
                let swing = sine(angle * Float(petals) / Float(turns) + angle * 0.5)
                return center + Point(cosine(angle), sine(angle)) * radius * (0.72 + 0.28 * swing)
            }, closed: true)
    }

    /// Draws a translucent hologram of rings and rays.
    static func hologram(center: Point, radius: Float, on canvas: inout Canvas) {
        let shimmer: (Point) -> Color = { position in
            let offset = position - center
            let distance = (offset * offset).sum().squareRoot() / radius
            let slope = offset.x * 0.055 + offset.y * 0.03
            return Color.hue(slope + distance * 0.55).mixed(with: Color(repeating: 1), 0.45)
        }
        canvas.fill(Outline(center: center, radii: Point(radius, radius)), opacity: 0.5, shimmer)
        var lines = (1...7).map { ring in
            Outline(center: center, radii: Point(repeating: radius * Float(ring) / 7))
        }
        lines += (0..<36).map { ray in
            let angle = Float(ray) / 36 * 2 * .pi
            let direction = Point(cosine(angle), sine(angle))
            return Outline([center + direction * radius * 0.3, center + direction * radius])
        }
        lines.append(rosette(center: center, radius: radius * 0.95, petals: 24, turns: 5))
        canvas.stroke(lines, pen: 0.07, Color(0.95, 0.97, 1), opacity: 0.55)
        let star = Outline(
            (0..<10).map { corner in
                let angle = Float(corner) / 10 * 2 * .pi - .pi / 2
                return center + Point(cosine(angle), sine(angle)) * radius * (corner.isMultiple(of: 2) ? 0.5 : 0.21)
            }, closed: true)
        canvas.fill(star, opacity: 0.45) { shimmer($0 * 1.4) }
    }

    /// Returns the ridges of a fingerprint.
    static func fingerprint(center: Point, radii: Point) -> [Outline] {
        (1...15).map { ring in
            let share = Float(ring) / 15
            return Outline(
                (0..<90).compactMap { step in
                    let angle = Float(step) / 90 * 2 * .pi
                    let wobble = 1 + 0.06 * sine(angle * 3 + share * 9) + 0.03 * sine(angle * 7 - share * 5)
                    return center + radii * share * wobble * Point(cosine(angle), sine(angle) - 0.12 * (1 - share))
                }, closed: true)
        }
    }

    /// Draws a 2D code with corner marks and no content.
    static func cells(at origin: Point, size: Float, count: Int, on canvas: inout Canvas) {
        let cell = size / Float(count)
        func isDark(_ column: Int, _ row: Int) -> Bool {
            for (left, top) in [(0, 0), (count - 7, 0), (0, count - 7)] {
                let (x, y) = (column - left, row - top)
                guard (0..<7).contains(x), (0..<7).contains(y) else { continue }
                let ring = min(x, y, 6 - x, 6 - y)
                return ring != 1
            }
            return Hash.bits(Int32(column), Int32(row), 77) & 1 == 0
        }
        for row in 0..<count {
            for column in 0..<count where isDark(column, row) {
                let corner = origin + Point(Float(column), Float(row)) * cell
                canvas.box(corner, corner + cell * 1.02, Color(0.08, 0.09, 0.14))
            }
        }
    }

    /// Draws a barcode.
    static func bars(at origin: Point, size: Point, on canvas: inout Canvas) {
        var x: Float = 0
        var index: Int32 = 0
        while x < size.x {
            let bits = Hash.bits(index, 3, 41)
            let bar = 0.18 + Float(bits & 3) * 0.16
            let right = min(x + bar, size.x)
            canvas.box(origin + Point(x, 0), origin + Point(right, size.y), Color(0.08, 0.09, 0.14))
            x += bar + 0.2 + Float((bits >> 2) & 3) * 0.14
            index += 1
        }
    }
}
