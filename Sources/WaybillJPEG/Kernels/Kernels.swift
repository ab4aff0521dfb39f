import CWaybillJPEG

// The loops that use most of the CPU time are implemented twice: in C, and as a shorter version in Swift. The Swift
// versions are the reference for the tests of the C versions. A build with WAYBILL_PLAIN_SWIFT=1 in its environment
// uses the Swift versions. It is slower, but shows whether the C code causes a problem.
#if WAYBILL_PLAIN_SWIFT
    typealias Kernels = PlainKernels
#else
    typealias Kernels = CKernels
#endif

/// Loops over memory passed as pointers. The caller guarantees that the memory is valid.
protocol KernelSet {
    /// Sets `out[x]` to the sum of `weights[t] * rows[t][x]`; weights have 14 fractional bits. `sums` is scratch space.
    static func vertical(
        _ rows: [UnsafePointer<UInt8>], _ weights: UnsafePointer<Int16>, width: Int,
        sums: UnsafeMutablePointer<Int32>, out: UnsafeMutablePointer<Float>)
    /// Sets `out[x]` to the sum of `weights[t] * rows[t][x]`, for 16-bit samples and floating-point weights.
    static func vertical(
        _ rows: [UnsafePointer<UInt16>], _ weights: [Float], width: Int, out: UnsafeMutablePointer<Float>)
    /// Sets `out[x]` to the sum of `weights[x * taps + t] * row[starts[x] + t]`; `taps` is a multiple of 4.
    static func horizontal(
        _ row: UnsafePointer<Float>, _ starts: [Int32], _ weights: [Float], taps: Int, width: Int,
        out: UnsafeMutablePointer<Float>)
    /// Quantizes blocks so that rate + strength * distortion is minimal. `norms` contains the mean square of each block
    /// without DC, `table` the quantization table in zigzag order, and `bits` the length of each AC symbol.
    static func trellis(
        _ coefficients: UnsafePointer<Int16>, _ norms: UnsafePointer<Float>, blocks: Int, _ table: [UInt16],
        _ bits: [Float], strength: Float, levels: UnsafeMutablePointer<Int16>)
}

/// The loops in C, which use AVX2 if the processor supports it.
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
