/// Flat drawings of the two sides of the specimen card.
enum CardFace {
    private static let ink = Color(0.07, 0.10, 0.22)
    private static let label = Color(0.30, 0.38, 0.50)
    private static let seal = Color(0.76, 0.10, 0.16)

    /// Draws one side. The scale is in pixels per millimeter.
    static func draw(_ side: CardArtist.Side, scale: Float) -> Canvas {
        var canvas = Canvas(scale: scale)
        switch side {
        case .front: drawFront(on: &canvas)
        case .back: drawBack(on: &canvas)
        }
        return canvas
    }

    // MARK: Front

    private static func drawFront(on canvas: inout Canvas) {
        ground(on: &canvas, Color(0.86, 0.94, 0.95), Color(0.97, 0.93, 0.84))
        canvas.box(Point(0, 0), Point(Canvas.cardSize.x, 9.4), Color(0.10, 0.20, 0.42))
        canvas.box(Point(0, 9.4), Point(Canvas.cardSize.x, 10), Color(0.83, 0.66, 0.25))
        canvas.stroke(
            [Ornaments.rosette(center: Point(6.4, 4.7), radius: 3.6, petals: 22, turns: 5)], pen: 0.09,
            Color(0.95, 0.83, 0.45))
        write("REPUBLIC OF WAYBILL", at: Point(12, 2), height: 3, pen: 0.5, Color(0.98, 0.98, 0.95), on: &canvas)
        write(
            "SPECIMEN IDENTITY CARD", at: Point(12, 6.2), height: 1.7, pen: 0.26, Color(0.80, 0.87, 0.97), on: &canvas)
        brush("样本", at: Point(70.5, 2), size: 5.4, pen: 0.6, Color(0.95, 0.83, 0.45), on: &canvas)

        Portrait(origin: Point(4.6, 13), scale: 1, opacity: 1).draw(on: &canvas)
        frame(Point(4.6, 13), Point(28.6, 45), on: &canvas)
        write("WB 0000 1815 12", at: Point(5, 47.4), height: 2, pen: 0.38, seal, on: &canvas)
        frontFields(on: &canvas)
        Portrait(origin: Point(68.5, 13.4), scale: 0.42, opacity: 0.28).draw(on: &canvas)
        Ornaments.hologram(center: Point(73.6, 41), radius: 8.2, on: &canvas)
        microText(at: Point(32, 50.6), on: &canvas)
        watermark(on: &canvas)
    }

    private static func frontFields(on canvas: inout Canvas) {
        let fields: [(character: String, name: String, value: String, position: Point)] = [
            ("名", "SURNAME", "SPECIMEN", Point(32, 13.2)), ("", "GIVEN NAMES", "ADA MARINER", Point(32, 20.3)),
            ("生", "DATE OF BIRTH", "10 DEC 1990", Point(32, 27.4)), ("", "SEX", "F", Point(60, 27.4)),
            ("中", "NATIONALITY", "WAYBILL", Point(32, 34.5)), ("日", "VALID UNTIL", "31 DEC 2035", Point(32, 41.6)),
        ]
        for field in fields {
            var position = field.position
            if !field.character.isEmpty {
                brush(field.character, at: position, size: 1.9, pen: 0.2, label, on: &canvas)
                position.x += 2.6
            }
            write(field.name, at: position + Point(0, 0.3), height: 1.3, pen: 0.2, label, on: &canvas)
            write(field.value, at: field.position + Point(0, 2.7), height: 2.7, pen: 0.46, ink, on: &canvas)
        }
    }

    // MARK: Back

    private static func drawBack(on canvas: inout Canvas) {
        ground(on: &canvas, Color(0.95, 0.93, 0.86), Color(0.84, 0.91, 0.94))
        canvas.box(Point(0, 3.4), Point(Canvas.cardSize.x, 11), Color(0.13, 0.12, 0.13))
        write("ISSUING AUTHORITY", at: Point(5, 13.4), height: 1.3, pen: 0.2, label, on: &canvas)
        write("BUREAU OF FREIGHT", at: Point(5, 15.8), height: 2.4, pen: 0.42, ink, on: &canvas)
        write("PORT OFFICE 7 - HARBOUR ROAD", at: Point(5, 19.6), height: 1.6, pen: 0.25, ink, on: &canvas)
        write("VALID", at: Point(5, 23.2), height: 1.3, pen: 0.2, label, on: &canvas)
        write("2025.01.01 - 2035.12.31", at: Point(5, 25.5), height: 2, pen: 0.36, ink, on: &canvas)
        brush("号", at: Point(5, 29.4), size: 1.9, pen: 0.2, label, on: &canvas)
        write("CARD NUMBER", at: Point(7.6, 29.7), height: 1.3, pen: 0.2, label, on: &canvas)
        write("WB 0000 1815 12", at: Point(5, 32.1), height: 2, pen: 0.38, seal, on: &canvas)

        signature(on: &canvas)
        canvas.stroke(
            Ornaments.fingerprint(center: Point(52.3, 24.6), radii: Point(5, 7)), pen: 0.22, Color(0.25, 0.18, 0.3),
            opacity: 0.7)
        Ornaments.cells(at: Point(64.2, 13.6), size: 16.6, count: 29, on: &canvas)
        Ornaments.bars(at: Point(58, 32.2), size: Point(23, 3.8), on: &canvas)
        machineLines(on: &canvas)
        watermark(on: &canvas)
    }

    private static func signature(on canvas: inout Canvas) {
        let line = Outline(
            (0...80).map { step in
                let t = Float(step) / 80
                let lift = sine(t * 31) * 1.3 * (1 - t * 0.6) + sine(t * 13 + 1) * 0.7
                return Point(31.5 + t * 13 + cosine(t * 29) * 0.6, 33 - lift)
            }
        ).smoothed(2)
        canvas.stroke([line], pen: 0.3, Color(0.09, 0.13, 0.45), opacity: 0.9)
        canvas.stroke([Outline([Point(31, 35.2), Point(46, 35.2)])], pen: 0.12, label)
    }

    private static func machineLines(on canvas: inout Canvas) {
        canvas.box(Point(0, 38), Canvas.cardSize, Color(0.98, 0.98, 0.96), opacity: 0.75)
        let lines = [
            "I<WBLWB0000181512<<<<<<<<<<<<<", "9012104F3512311WBL<<<<<<<<<<<6", "SPECIMEN<<ADA<MARINER<<<<<<<<<",
        ]
        for (row, line) in lines.enumerated() {
            // Machine-readable text is monospaced.
            for (column, character) in line.enumerated() {
                let position = Point(4.4 + Float(column) * 2.58, 39.8 + Float(row) * 4.5)
                canvas.stroke(StrokeFont.cell(character, at: position, height: 2.5), pen: 0.38, ink)
            }
        }
    }

    // MARK: Both

    private static func ground(on canvas: inout Canvas, _ from: Color, _ to: Color) {
        canvas.paint { position in from.mixed(with: to, (position.x + position.y * 0.6) / 110) }
        for (index, color) in [Color(0.36, 0.62, 0.66), Color(0.80, 0.56, 0.40), Color(0.48, 0.52, 0.76)].enumerated() {
            let lines = Ornaments.waves(from: -2 + Float(index), to: 56, lines: 34, phase: Float(index) * 1.7)
            canvas.stroke(lines, pen: 0.08, color, opacity: 0.42)
        }
        canvas.stroke(
            [
                Ornaments.rosette(center: Point(46, 31), radius: 17, petals: 46, turns: 9),
                Ornaments.rosette(center: Point(46, 31), radius: 10, petals: 31, turns: 7),
            ], pen: 0.08, Color(0.72, 0.42, 0.52), opacity: 0.34)
    }

    private static func watermark(on canvas: inout Canvas) {
        let height: Float = 9
        let width = StrokeFont.width("SPECIMEN", height: height)
        let outlines = StrokeFont.outlines("SPECIMEN", at: Point(-width / 2, -height / 2), height: height)
        let (rise, run) = (sine(-0.42), cosine(-0.42))
        let turned = outlines.map { outline in
            Outline(
                outline.points.map { point in
                    Point(point.x * run - point.y * rise, point.x * rise + point.y * run) + Point(44, 31)
                }, closed: outline.isClosed)
        }
        canvas.stroke(turned, pen: 1.5, seal, opacity: 0.16)
    }

    private static func microText(at origin: Point, on canvas: inout Canvas) {
        let text = String(repeating: "SPECIMEN NO VALUE ", count: 5)
        write(text, at: origin, height: 0.55, pen: 0.09, Color(0.2, 0.36, 0.5), on: &canvas)
    }

    private static func frame(_ from: Point, _ to: Point, on canvas: inout Canvas) {
        let box = Outline([from, Point(to.x, from.y), to, Point(from.x, to.y)], closed: true)
        canvas.stroke([box], pen: 0.25, Color(0.45, 0.5, 0.58))
    }

    private static func write(
        _ text: String, at origin: Point, height: Float, pen: Float, _ color: Color, on canvas: inout Canvas
    ) {
        canvas.stroke(StrokeFont.outlines(text, at: origin, height: height), pen: pen, color)
    }

    private static func brush(
        _ text: String, at origin: Point, size: Float, pen: Float, _ color: Color, on canvas: inout Canvas
    ) {
        for (index, character) in text.enumerated() {
            let position = origin + Point(Float(index) * size * 1.2, 0)
            canvas.stroke(BrushFont.outlines(character, at: position, size: size), pen: pen, color)
        }
    }
}
