import WaybillCore

/// Recompresses one image under several limits and measures each result against the original.
struct CurveMeasurement {
    let input: JPEGInput
    let options: JPEGOptions
    let flag: StopFlag

    func run(_ limits: [ByteCount]) throws(JPEGError) -> [JPEGCurvePoint] {
        try options.check()
        // Read the file once, so that all points of the curve use the same content even if the file changes.
        let input = try held()
        let judge = try judge(of: input)
        var points: [JPEGCurvePoint] = []
        for limit in limits {
            var options = options
            options.maxBytes = limit
            options.onFailure = .fail
            do throws(JPEGError) {
                let result = try Recompression(input: input, options: options, flag: flag).run()
                let deviation = judge.distance(to: try level(of: result.bytes, judge))
                points.append(JPEGCurvePoint(limit: limit, report: result.report, deviation: deviation))
            } catch {
                guard error.code == .cannotReachLimit else { throw error }
            }
        }
        return points
    }

    private func held() throws(JPEGError) -> JPEGInput {
        guard case .file(let path) = input else { return input }
        return .bytes(try PhotoFile.read(path, upTo: JPEGBounds.inputBytes))
    }

    private func judge(of input: JPEGInput) throws(JPEGError) -> SimilarityMetric {
        let source = try Recompression(input: input, options: options, flag: flag).source()
        let largest = source.upright.capped(atSide: SimilarityMetric.finestSide)
        let loader = ImageLoader(source: source, isLinear: options.isDocument, flag: flag)
        return SimilarityMetric(try loader.load(largest, eighths: 8), isFine: true, sizeBias: 0)
    }

    private func level(of bytes: [UInt8], _ judge: SimilarityMetric) throws(JPEGError) -> SimilarityMetric.Level {
        let source = ImageSource(file: bytes, try JPEGHeader(parsing: bytes))
        let loader = ImageLoader(source: source, isLinear: false, flag: flag)
        return judge.level(of: try loader.load(source.upright, eighths: 8))
    }
}
