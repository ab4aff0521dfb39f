public import WaybillCore

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
