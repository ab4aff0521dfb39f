import CWaybillJPEG

/// Collects rows of samples until a row of blocks is complete, and passes it on.
@safe final class BlockRow {
    private let width: Int
    private let height: Int
    private let stride: Int
    private let rows: Samples<Float>
    private let finish: (_ rows: UnsafePointer<Float>, _ stride: Int, _ index: Int) -> Void

    /// Creates a collector. `finish` receives eight padded rows of samples from 0 to 255 and their block row index.
    init(
        width: Int, height: Int, finish: @escaping (_ rows: UnsafePointer<Float>, _ stride: Int, _ index: Int) -> Void
    ) {
        self.width = width
        self.height = height
        stride = (width + 7) / 8 * 8
        rows = Samples(repeating: 0, count: stride * 8)
        unsafe self.finish = finish
    }

    func append(_ row: UnsafePointer<Float>, at index: Int) {
        let slot = index % 8
        let target = unsafe rows.start + slot * stride
        // Values below 0 or above 255 are ringing, which no decoder displays.
        unsafe wb_jpeg_pad(row, Int32(width), Int32(stride), target)
        guard slot == 7 || index == height - 1 else { return }
        for missing in slot + 1..<max(slot + 1, 8) {
            unsafe (rows.start + missing * stride).update(from: target, count: stride)
        }
        unsafe finish(rows.start, stride, index / 8)
    }
}
