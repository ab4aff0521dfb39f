/// A desk of wooden planks.
struct Desk: Sendable {
    /// The number of pixels of a full-size photo per pixel of this photo.
    let unit: Float
    let seed: UInt32

    func color(_ pixel: Point) -> Color {
        let place = pixel * unit
        let plank = (place.y / 760).rounded(.down)
        let x = place.x + plank * 1_371
        let bend = Hash.noise(x * 0.0016, place.y * 0.004, seed)
        let grain = Hash.noise(x * 0.004, place.y * 0.05 + bend * 9, seed &+ 1)
        let fibre = Hash.noise(x * 0.022, place.y * 0.55, seed &+ 2)
        let rings = sine((place.y * 0.011 + bend * 3.4) * 6.2)
        let tone = 0.34 + 0.30 * grain + 0.10 * rings + 0.22 * (fibre - 0.5)
        let own = 0.08 * Hash.unit(Int32(plank), 0, seed)
        let seam = min(place.y - plank * 760, (plank + 1) * 760 - place.y)
        let wood = Color(0.26, 0.155, 0.09).mixed(with: Color(0.68, 0.49, 0.31), tone + own)
        return seam < 5 ? wood * 0.45 : wood
    }
}
