import CWaybillJPEG

/// A picture at one size after the forward DCT, not yet quantised: every quantiser is tried on it without another DCT.
struct FrequencyImage {
    struct Component {
        let blocksAcross: Int
        let blocksDown: Int
        /// Eight times each coefficient, 64 a block in zigzag order.
        let coefficients: Samples<Int16>
        /// Mean square of each block's AC coefficients.
        let norms: Samples<Float>
        /// Which Huffman tables it uses: 0 luma, 1 chroma.
        let tableClass: Int

        var blocks: Int { blocksAcross * blocksDown }
    }

    let width: Int
    let height: Int
    let components: [Component]

    var pixels: Double { Double(width) * Double(height) }

    /// Resizes a picture and transforms it, a row of blocks at a time.
    init(_ picture: Picture, width: Int, height: Int, isLinear: Bool, flag: StopFlag) throws(JPEGError) {
        self.width = width
        self.height = height
        let stepAcross = Double(picture.width) / Double(width)
        let stepDown = Double(picture.height) / Double(height)
        var components: [Component] = []
        for (index, plane) in ([picture.luma] + picture.chroma).enumerated() {
            try flag.check()
            let pitch = index == 0 ? 1 : 2
            let (across, down) = ((width + pitch - 1) / pitch, (height + pitch - 1) / pitch)
            let stripe = BlockRow(width: across, height: down, tableClass: index == 0 ? 0 : 1)
            unsafe plane.resample(
                width: across, height: down, stepAcross: stepAcross, stepDown: stepDown,
                isLinear: isLinear && index == 0
            ) { unsafe stripe.take($0, at: $1) }
            components.append(stripe.component)
        }
        try flag.check()
        self.components = components
    }
}

/// Gathers rows until a row of blocks is full, then transforms it.
@safe private final class BlockRow {
    let component: FrequencyImage.Component
    private let width: Int
    private let height: Int
    private let stride: Int
    private let rows: Samples<Float>

    init(width: Int, height: Int, tableClass: Int) {
        self.width = width
        self.height = height
        let (across, down) = ((width + 7) / 8, (height + 7) / 8)
        stride = across * 8
        rows = Samples(repeating: 0, count: stride * 8)
        component = FrequencyImage.Component(
            blocksAcross: across, blocksDown: down, coefficients: Samples(count: across * down * 64),
            norms: Samples(count: across * down), tableClass: tableClass)
    }

    func take(_ row: UnsafePointer<Float>, at index: Int) {
        let slot = index % 8
        let target = unsafe rows.start + slot * stride
        // Values beyond 0 and 255 are ringing that no decoder could show.
        unsafe wb_jpeg_pad(row, Int32(width), Int32(stride), target)
        let isLast = index == height - 1
        guard slot == 7 || isLast else { return }
        for missing in slot + 1..<max(slot + 1, 8) {
            unsafe (rows.start + missing * stride).update(from: target, count: stride)
        }
        let first = index / 8 * component.blocksAcross
        unsafe wb_jpeg_forward(
            rows.start, Int32(stride), Int32(component.blocksAcross), component.coefficients.start + first * 64,
            component.norms.start + first)
    }
}
