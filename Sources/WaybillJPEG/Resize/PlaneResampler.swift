import CWaybillJPEG

/// Resizes one plane row by row; returns output rows as soon as their last input row has arrived.
///
/// It resamples vertically first, then horizontally, because the vertical sums access memory sequentially. It stores
/// only the rows that one output row needs.
@safe final class PlaneResampler {
    enum Depth { case bytes, words }

    private let horizontal: ResamplingPlan
    private let vertical: ResamplingPlan
    private let depth: Depth
    private let isLinear: Bool
    private let fixedWeights: [Int16]
    private let ring: Samples<UInt8>
    private let rowBytes: Int
    private let sums: Samples<Int32>
    private let wide: Samples<Float>
    private let output: Samples<Float>
    private var pushed = 0
    private var emitted = 0

    /// Creates a resampler for one plane. With `isLinear`, samples are squared before resampling and square roots taken
    /// afterwards, which approximates resampling in linear light; thin text then remains legible at smaller sizes.
    init(horizontal: ResamplingPlan, vertical: ResamplingPlan, depth: Depth, isLinear: Bool) {
        self.horizontal = horizontal
        self.vertical = vertical
        self.isLinear = isLinear && !(horizontal.isIdentity && vertical.isIdentity)
        self.depth = depth
        let keepsWords = depth == .words || self.isLinear
        rowBytes = horizontal.inputCount * (keepsWords ? 2 : 1)
        ring = Samples(count: rowBytes * vertical.taps)
        fixedWeights = keepsWords ? [] : vertical.fixedPointWeights()
        sums = Samples(count: keepsWords ? 0 : horizontal.inputCount)
        // The horizontal kernel may read zero-weight taps beyond the end of the row.
        wide = Samples(repeating: 0, count: horizontal.inputCount + horizontal.taps)
        output = Samples(count: horizontal.outputCount)
    }

    var outputWidth: Int { horizontal.outputCount }
    var outputHeight: Int { vertical.outputCount }
    /// Whether rows are passed on unchanged.
    var isIdentity: Bool { horizontal.isIdentity && vertical.isIdentity }

    /// Takes the next row; calls `emit` with each row that it completes.
    func push(_ row: UnsafeRawPointer, emit: (UnsafePointer<Float>, Int) -> Void) {
        let slot = unsafe UnsafeMutableRawPointer(ring.start + pushed % vertical.taps * rowBytes)
        let width = Int32(horizontal.inputCount)
        switch (depth, isLinear) {
        case (_, false): unsafe slot.copyMemory(from: row, byteCount: rowBytes)
        case (.bytes, true):
            unsafe wb_jpeg_square_u8(
                row.assumingMemoryBound(to: UInt8.self), width, slot.assumingMemoryBound(to: UInt16.self))
        case (.words, true):
            unsafe wb_jpeg_square_u16(
                row.assumingMemoryBound(to: UInt16.self), width, slot.assumingMemoryBound(to: UInt16.self))
        }
        pushed += 1
        while emitted < vertical.outputCount, Int(vertical.starts[emitted]) + vertical.taps <= pushed {
            unsafe emit(finishRow(), emitted)
            emitted += 1
        }
    }

    private func finishRow() -> UnsafePointer<Float> {
        if depth == .bytes, !isLinear { sumBytes() } else { sumWords() }
        let width = horizontal.outputCount
        if horizontal.isIdentity {
            if isLinear { unsafe wb_jpeg_root(wide.start, Int32(width)) }
            return unsafe UnsafePointer(wide.start)
        }
        unsafe Kernels.horizontal(
            wide.start, horizontal.starts, horizontal.weights, taps: horizontal.taps, width: width, out: output.start)
        if isLinear { unsafe wb_jpeg_root(output.start, Int32(width)) }
        return unsafe UnsafePointer(output.start)
    }

    private func sumBytes() {
        let width = Int32(horizontal.inputCount)
        let first = Int(vertical.starts[emitted])
        if vertical.isIdentity {
            unsafe wb_jpeg_widen_u8(ring.start, width, wide.start)
            return
        }
        let rows = unsafe (first..<first + vertical.taps).map { index in
            unsafe UnsafePointer(ring.start + index % vertical.taps * rowBytes)
        }
        unsafe fixedWeights.withUnsafeBufferPointer { weights in
            unsafe Kernels.vertical(
                rows, weights.baseAddress! + emitted * vertical.taps, width: Int(width), sums: sums.start,
                out: wide.start)
        }
    }

    private func sumWords() {
        let width = horizontal.inputCount
        let first = Int(vertical.starts[emitted])
        let rows = unsafe (first..<first + vertical.taps).map { index in
            let row = unsafe UnsafeRawPointer(ring.start + index % vertical.taps * rowBytes)
            return unsafe row.assumingMemoryBound(to: UInt16.self)
        }
        // 16-bit samples are in 256ths, squares in whole units.
        let scale: Float = isLinear ? 1 : 1.0 / 256
        let base = emitted * vertical.taps
        let weights = vertical.weights[base..<base + vertical.taps].map { $0 * scale }
        unsafe Kernels.vertical(rows, weights, width: width, out: wide.start)
    }
}

extension Plane {
    /// Resizes the plane; calls `emit` with the rows in order.
    func resample(
        width newWidth: Int, height newHeight: Int, stepAcross: Double, stepDown: Double, isLinear: Bool,
        emit: (UnsafePointer<Float>, Int) -> Void
    ) {
        let horizontal = ResamplingPlan(
            inputCount: width, outputCount: newWidth, step: stepAcross, tapsMultipleOf: 4)
        let vertical = ResamplingPlan(inputCount: height, outputCount: newHeight, step: stepDown)
        let depth: PlaneResampler.Depth
        if case .bytes = storage { depth = .bytes } else { depth = .words }
        let resampler = PlaneResampler(horizontal: horizontal, vertical: vertical, depth: depth, isLinear: isLinear)
        for row in 0..<height {
            switch storage {
            case .bytes(let samples): unsafe resampler.push(samples.start + row * width, emit: emit)
            case .words(let samples): unsafe resampler.push(samples.start + row * width, emit: emit)
            }
        }
    }
}
