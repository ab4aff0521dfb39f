import CWaybillJPEG

/// Encodes a large image with a given factor while it is decoded, so that neither its samples nor its coefficients are
/// ever in memory as a whole. Only libjpeg's levels are, because the progressive writer reads them repeatedly.
///
/// Blocks are quantized one band of rows at a time. The trellis uses the symbol lengths of all blocks counted so far,
/// which after the first band is as good as counting the whole image.
@safe final class StreamedEncoder {
    private let table: QuantiserTable
    private let quantiser: Quantiser
    private let limit: Int
    private let raw: OpaquePointer
    private var counts: SymbolCounts
    private var planes: [Band] = []
    private var status = wb_jpeg_status()
    /// Whether the file will certainly exceed the limit; no further work is done then.
    private var isTooBig = false

    /// The number of block rows that are quantized together.
    private static let bandRows = 16

    private struct Band {
        let across: Int
        let down: Int
        let tableClass: Int
        let coefficients: Samples<Int16>
        let levels: Samples<Int16>
        let norms: Samples<Float>
        var last: Int32 = 0
    }

    /// Begins a file; `componentCount` is 1 for gray, or 3 for Y, Cb, Cr with chroma of half the width and height.
    init(
        _ size: PixelSize, componentCount: Int, factor: Double, quantiser: Quantiser, limit: Int, flag: CancellationFlag
    ) throws(JPEGError) {
        table = QuantiserTable(factor: factor)
        self.quantiser = quantiser
        self.limit = limit
        counts = SymbolCounts(componentCount: componentCount)
        planes = (0..<componentCount).map { index in
            let pitch = index == 0 ? 8 : 16
            let (across, down) = ((size.width + pitch - 1) / pitch, (size.height + pitch - 1) / pitch)
            let blocks = across * min(down, Self.bandRows)
            return Band(
                across: across, down: down, tableClass: index == 0 ? 0 : 1, coefficients: Samples(count: blocks * 64),
                levels: Samples(count: across * 64), norms: Samples(count: blocks))
        }
        let components = unsafe planes.map { plane in
            let sampling: Int32 = plane.tableClass == 0 && componentCount > 1 ? 2 : 1
            return unsafe wb_jpeg_component(
                levels: nil, blocks_across: Int32(plane.across), blocks_down: Int32(plane.down), horizontal: sampling,
                vertical: sampling)
        }
        var status = wb_jpeg_status()
        guard
            let raw = unsafe wb_jpeg_writer_open(
                Int32(size.width), Int32(size.height), components, Int32(componentCount), table.natural,
                ScanScript.split.raw, flag.raw, &status)
        else { throw JPEGError(status) }
        unsafe self.raw = raw
    }

    deinit { unsafe wb_jpeg_writer_close(raw) }

    /// Returns a collector for the rows of one plane, in order; rows of different planes may be interleaved.
    func rows(of index: Int, width: Int, height: Int) -> BlockRow {
        unsafe BlockRow(width: width, height: height) { [unowned self] rows, stride, row in
            unsafe encode(index, rows, stride, row)
        }
    }

    private func encode(_ index: Int, _ rows: UnsafePointer<Float>, _ stride: Int, _ row: Int) {
        guard status.outcome == wb_jpeg_ok, !isTooBig else { return }
        let plane = planes[index]
        let slot = row % Self.bandRows
        let first = slot * plane.across
        unsafe wb_jpeg_forward(
            rows, Int32(stride), Int32(plane.across), plane.coefficients.start + first * 64, plane.norms.start + first)
        if slot == Self.bandRows - 1 || row == plane.down - 1 { finishBand(index, from: row - slot, through: row) }
    }

    private func finishBand(_ index: Int, from first: Int, through last: Int) {
        let plane = planes[index]
        unsafe counts.add(
            plane.coefficients.start, blocks: (last - first + 1) * plane.across, tableClass: plane.tableClass, table,
            rounding: quantiser.rounding, last: &planes[index].last)
        // The trellis never saves as much as half.
        isTooBig = counts.leastBytes * 0.5 > Double(limit)
        let bits = counts.symbolBits[plane.tableClass]
        for row in first...last {
            let start = (row - first) * plane.across
            unsafe quantiser.quantise(
                plane.coefficients.start + start * 64, plane.norms.start + start, blocks: plane.across, table, bits,
                to: plane.levels.start)
            unsafe wb_jpeg_writer_put(raw, Int32(index), Int32(row), plane.levels.start, &status)
        }
    }

    /// Writes the file.
    ///
    /// - Returns: `nil` if it exceeds the limit.
    func finish() throws(JPEGError) -> [UInt8]? {
        guard !isTooBig else { return nil }
        var bytes = unsafe wb_jpeg_bytes()
        if status.outcome == wb_jpeg_ok { unsafe wb_jpeg_writer_finish(raw, &bytes, &status) }
        let file = try unsafe JPEGWriter.takeBytes(bytes, status)
        return file.count <= limit ? file : nil
    }
}
