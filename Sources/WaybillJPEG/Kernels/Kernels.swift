import CWaybillJPEG

// The three hottest loops exist twice: in C, and in plain Swift that says the same in fewer words. The Swift ones are what
// the C ones are tested against, and with WAYBILL_PLAIN_SWIFT=1 in the environment of the build they do the work: slower,
// and good for telling whether the C is to blame for something.
#if WAYBILL_PLAIN_SWIFT
    typealias Kernels = PlainKernels
#else
    typealias Kernels = CKernels
#endif

/// Loops over plain memory. Whoever calls has made sure that it is there.
protocol KernelSet {
    /// `out[x]` becomes the sum of `weights[t] * rows[t][x]`; weights have 14 fractional bits. `sums` is room for the work.
    static func vertical(
        _ rows: [UnsafePointer<UInt8>], _ weights: UnsafePointer<Int16>, width: Int,
        sums: UnsafeMutablePointer<Int32>, out: UnsafeMutablePointer<Float>)
    /// The same for words, with plain weights.
    static func vertical(
        _ rows: [UnsafePointer<UInt16>], _ weights: [Float], width: Int, out: UnsafeMutablePointer<Float>)
    /// `out[x]` becomes the sum of `weights[x * taps + t] * row[starts[x] + t]`; `taps` is a multiple of 4.
    static func horizontal(
        _ row: UnsafePointer<Float>, _ starts: [Int32], _ weights: [Float], taps: Int, width: Int,
        out: UnsafeMutablePointer<Float>)
    /// Quantises blocks for the least rate + strength * distortion. `bits` is the length of each AC symbol.
    static func trellis(
        _ coefficients: UnsafePointer<Int16>, _ norms: UnsafePointer<Float>, blocks: Int, _ table: [UInt16],
        _ bits: [Float], strength: Float, levels: UnsafeMutablePointer<Int16>)
}

/// The loops in C, for AVX2 where the processor has it.
enum CKernels: KernelSet {
    static func vertical(
        _ rows: [UnsafePointer<UInt8>], _ weights: UnsafePointer<Int16>, width: Int,
        sums: UnsafeMutablePointer<Int32>, out: UnsafeMutablePointer<Float>
    ) {
        unsafe wb_jpeg_vertical_u8(rows, weights, Int32(rows.count), Int32(width), sums, out)
    }

    static func vertical(
        _ rows: [UnsafePointer<UInt16>], _ weights: [Float], width: Int, out: UnsafeMutablePointer<Float>
    ) {
        unsafe wb_jpeg_vertical_u16(rows, weights, Int32(rows.count), Int32(width), out)
    }

    static func horizontal(
        _ row: UnsafePointer<Float>, _ starts: [Int32], _ weights: [Float], taps: Int, width: Int,
        out: UnsafeMutablePointer<Float>
    ) {
        unsafe wb_jpeg_horizontal(row, starts, weights, Int32(taps), Int32(width), out)
    }

    static func trellis(
        _ coefficients: UnsafePointer<Int16>, _ norms: UnsafePointer<Float>, blocks: Int, _ table: [UInt16],
        _ bits: [Float], strength: Float, levels: UnsafeMutablePointer<Int16>
    ) {
        unsafe wb_jpeg_trellis(coefficients, norms, blocks, table, bits, strength, levels)
    }
}
