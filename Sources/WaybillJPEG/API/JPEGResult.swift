public import WaybillCore

/// A finished picture.
public struct JPEGResult: Sendable {
    /// The file: JFIF, progressive, without metadata.
    public let bytes: [UInt8]
    /// What was done.
    public let report: JPEGReport
}

extension JPEGResult: CustomStringConvertible, CustomReflectable {
    /// Size and bytes: `JPEG, 1268 x 951, 99.7 KiB`. Never the picture itself.
    public var description: String {
        "JPEG, \(report.width) x \(report.height), \(ByteCount(bytes: Int64(bytes.count)))"
    }
    /// The report only, so that `dump` prints no picture either.
    public var customMirror: Mirror { Mirror(self, children: ["report": report]) }
}

/// What was done to a picture, in figures.
public struct JPEGReport: Sendable, Hashable {
    /// Bytes that came in.
    public var originalBytes: Int
    /// Bytes that go out.
    public var bytes: Int
    /// Pixels across that came in, upright.
    public var originalWidth: Int
    /// Pixels down that came in, upright.
    public var originalHeight: Int
    /// Pixels across that go out, upright.
    public var width: Int
    /// Pixels down that go out, upright.
    public var height: Int
    /// The Exif orientation that came in, 1 to 8. What goes out is upright and says nothing, unless the original was
    /// kept (``failure``).
    public var orientation: Int
    /// The coarseness: every entry of the quantisation table is the base table's times this. 1 is about quality 50 and
    /// less is finer. `nil` when the picture was not quantised anew.
    public var quantiserFactor: Double?
    /// CPU time of the work, without waiting.
    public var cpuTime: Duration
    /// What came in and doesn't go out: `Exif`, `XMP`, `ICC profile`, `comment`, …, each once, and `trailing data` for
    /// what lay behind the picture, such as previews and films.
    public var stripped: [String]
    /// The name of an embedded colour profile whose colours were converted to sRGB, such as `Display P3`.
    public var convertedProfile: String?
    /// The name of an embedded colour profile that was neither sRGB nor converted: one made of tables, of grey or of
    /// inks, or one that is damaged. The picture may look a little different without it.
    public var droppedProfile: String?
    /// Bytes between segments that belonged to nothing, as some cameras leave them; up to 64 are read over.
    public var strayBytes: Int
    /// Whether the coefficients are the input's own: nothing was lost but metadata.
    public var isPassedThrough: Bool
    /// Why the original went out after all (``JPEGOptions/FailurePolicy/sendOriginal``); `nil` otherwise.
    public var failure: JPEGError.Code?

    /// Width that goes out over width that came in; at most 1.
    public var scale: Double { Double(width) / Double(originalWidth) }

    /// The ``quantiserFactor`` on libjpeg's scale of 1 to 100, rounded.
    public var quality: Int? { quantiserFactor.map(QuantiserTable.quality(factor:)) }
}

/// What a picture looks like under one limit.
public struct JPEGCurvePoint: Sendable, Hashable {
    /// The limit that was set.
    public var limit: ByteCount
    /// What came of it.
    public var report: JPEGReport
    /// How far the result is from the original: 0 is the same, 0.1 plainly worse. It is the deviation of gradient
    /// similarity of luma (GMSD; Xue, Zhang, Mou and Bovik, 2014), both brought to at most 512 pixels a side, plus a
    /// tenth of it at twice and four times that size. Only figures of one picture can be compared.
    public var deviation: Double
}
