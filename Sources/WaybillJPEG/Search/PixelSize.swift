/// A width and height in pixels.
struct PixelSize: Equatable {
    var width: Int
    var height: Int

    var pixels: Double { Double(width) * Double(height) }
    var longSide: Int { max(width, height) }

    /// Returns the number of pixels of this shape with a longer side of at most `side`.
    func pixels(atLongSide side: Int) -> Double {
        let scale = min(1, Double(side) / Double(longSide))
        return pixels * scale * scale
    }

    /// Returns the size of the same shape with about `target` pixels; never larger than this size.
    func shrunk(toPixels target: Double) -> PixelSize {
        let scale = (target / pixels).squareRoot()
        guard scale < 1 else { return self }
        return PixelSize(
            width: max(1, Int((Double(width) * scale).rounded())),
            height: max(1, Int((Double(height) * scale).rounded())))
    }

    /// Returns the size after (or before) the transformation by an Exif orientation.
    func turned(_ orientation: Int) -> PixelSize {
        orientation >= 5 ? PixelSize(width: height, height: width) : self
    }

    /// Returns the largest size of this shape whose longer side is at most `cap`.
    func capped(atSide cap: Int?) -> PixelSize {
        guard let cap, longSide > cap else { return self }
        let scale = Double(cap) / Double(longSide)
        return PixelSize(
            width: max(1, min(cap, Int((Double(width) * scale).rounded()))),
            height: max(1, min(cap, Int((Double(height) * scale).rounded()))))
    }

    /// Returns the largest size of this shape with at most `cap` pixels.
    func capped(atPixels cap: Int?) -> PixelSize {
        guard let cap, pixels > Double(cap) else { return self }
        var size = shrunk(toPixels: Double(cap))
        // Rounding both sides up may exceed the cap by a row.
        while size.pixels > Double(cap) {
            if size.width > size.height { size.width -= 1 } else { size.height -= 1 }
        }
        return size
    }
}
