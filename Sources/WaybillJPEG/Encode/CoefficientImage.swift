import CWaybillJPEG

/// An image at one size after the forward DCT, not yet quantized: every quantizer is tried on it without another DCT.
struct CoefficientImage {
    struct Component {
        let blocksAcross: Int
        let blocksDown: Int
        /// Eight times each coefficient, 64 per block in zigzag order.
        let coefficients: Samples<Int16>
        /// The mean square of each block's AC coefficients.
        let norms: Samples<Float>
        /// The Huffman table class: 0 for luma, 1 for chroma.
        let tableClass: Int

        init(width: Int, height: Int, tableClass: Int) {
            blocksAcross = (width + 7) / 8
            blocksDown = (height + 7) / 8
            coefficients = Samples(count: blocksAcross * blocksDown * 64)
            norms = Samples(count: blocksAcross * blocksDown)
            self.tableClass = tableClass
        }

        var blocks: Int { blocksAcross * blocksDown }
    }

    let width: Int
    let height: Int
    let components: [Component]

    var pixels: Double { Double(width) * Double(height) }

    /// Resizes and transforms an image, one row of blocks at a time.
    init(_ image: DecodedImage, width: Int, height: Int, isLinear: Bool, flag: CancellationFlag) throws(JPEGError) {
        self.width = width
        self.height = height
        let stepAcross = Double(image.width) / Double(width)
        let stepDown = Double(image.height) / Double(height)
        var components: [Component] = []
        for (index, plane) in ([image.luma] + image.chroma).enumerated() {
            try flag.check()
            let pitch = index == 0 ? 1 : 2
            let (across, down) = ((width + pitch - 1) / pitch, (height + pitch - 1) / pitch)
            let component = Component(width: across, height: down, tableClass: index == 0 ? 0 : 1)
            let stripe = unsafe BlockRow(width: across, height: down) { rows, stride, row in
                let first = row * component.blocksAcross
                unsafe wb_jpeg_forward(
                    rows, Int32(stride), Int32(component.blocksAcross), component.coefficients.start + first * 64,
                    component.norms.start + first)
            }
            unsafe plane.resample(
                width: across, height: down, stepAcross: stepAcross, stepDown: stepDown,
                isLinear: isLinear && index == 0
            ) { unsafe stripe.append($0, at: $1) }
            components.append(component)
        }
        try flag.check()
        self.components = components
    }
}
