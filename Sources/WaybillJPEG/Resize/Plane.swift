import CWaybillJPEG

/// One component of an image in memory. Computed samples have 8 fractional bits, unchanged decoder samples none.
struct Plane {
    enum Storage {
        case bytes(Samples<UInt8>)
        case words(Samples<UInt16>)
    }

    let width: Int
    let height: Int
    let storage: Storage

    /// Creates an uninitialized plane.
    init(width: Int, height: Int, isFine: Bool) {
        self.width = width
        self.height = height
        storage = isFine ? .words(Samples(count: width * height)) : .bytes(Samples(count: width * height))
    }

    private init(width: Int, height: Int, storage: Storage) {
        self.width = width
        self.height = height
        self.storage = storage
    }

    /// Stores a row of values from 0 to 255, clamped and rounded.
    func store(_ row: UnsafePointer<Float>, at index: Int) {
        switch storage {
        case .bytes(let samples): unsafe wb_jpeg_store_u8(row, Int32(width), samples.start + index * width)
        case .words(let samples): unsafe wb_jpeg_store_u16(row, Int32(width), samples.start + index * width)
        }
    }

    /// Reads a row in units from 0 to 255.
    func read(_ index: Int, into row: UnsafeMutablePointer<Float>) {
        switch storage {
        case .bytes(let samples): unsafe wb_jpeg_widen_u8(samples.start + index * width, Int32(width), row)
        case .words(let samples): unsafe wb_jpeg_widen_u16(samples.start + index * width, Int32(width), row)
        }
    }

    /// Returns the plane transformed by an Exif orientation.
    func turned(_ orientation: Int) -> Plane {
        guard orientation != 1 else { return self }
        let (across, down) = orientation >= 5 ? (height, width) : (width, height)
        let result: Storage
        switch storage {
        case .bytes(let samples):
            let turned = Samples<UInt8>(count: samples.count)
            unsafe wb_jpeg_orient(samples.start, Int32(width), Int32(height), 1, Int32(orientation), turned.start)
            result = .bytes(turned)
        case .words(let samples):
            let turned = Samples<UInt16>(count: samples.count)
            unsafe wb_jpeg_orient(samples.start, Int32(width), Int32(height), 2, Int32(orientation), turned.start)
            result = .words(turned)
        }
        return Plane(width: across, height: down, storage: result)
    }

    /// The brightness of the paper if the plane is the luma of a page of text: nearly all of it is paper of one
    /// brightness, blank or with text on it. Photos of paper are not, because light and shadow make their paper uneven.
    var paper: Double? {
        let blocks =
            switch storage {
            case .bytes(let samples):
                unsafe wb_jpeg_count_page_blocks(samples.start, Int32(width), Int32(height), 1)
            case .words(let samples):
                unsafe wb_jpeg_count_page_blocks(samples.start, Int32(width), Int32(height), 2)
            }
        let isPage =
            Double(blocks.text) >= 0.02 * Double(blocks.all)
            && Double(blocks.text + blocks.blank) >= 0.75 * Double(blocks.all) && blocks.all > 0
        return isPage ? blocks.paper : nil
    }

    /// Whether all samples are within two units of 128, which is visually neutral.
    var isNeutral: Bool {
        switch storage {
        case .bytes(let samples): unsafe wb_jpeg_spread_u8(samples.start, samples.count) <= 512
        case .words(let samples): unsafe wb_jpeg_spread_u16(samples.start, samples.count) <= 512
        }
    }
}

/// A decoded upright image: luma and, unless it is gray, two chroma planes of half its width and height.
struct DecodedImage {
    let luma: Plane
    var chroma: [Plane]

    var width: Int { luma.width }
    var height: Int { luma.height }
}

/// A fixed-size buffer of trivial values that C code may write to. It is uninitialized; its creator must fill it.
@safe final class Samples<Element: BitwiseCopyable>: @unchecked Sendable {
    let count: Int
    let start: UnsafeMutablePointer<Element>

    init(count: Int) {
        self.count = count
        unsafe start = .allocate(capacity: max(1, count))
    }

    init(repeating value: Element, count: Int) {
        self.count = count
        unsafe start = .allocate(capacity: max(1, count))
        unsafe start.initialize(repeating: value, count: count)
    }

    deinit { unsafe start.deallocate() }

    subscript(index: Int) -> Element {
        get {
            precondition(index >= 0 && index < count)
            return unsafe start[index]
        }
        set {
            precondition(index >= 0 && index < count)
            unsafe start[index] = newValue
        }
    }
}
