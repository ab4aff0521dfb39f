import WaybillCore

/// Recompresses one image under several limits and measures each result against the original.
struct CurveMeasurement {
    let input: JPEGInput
    let options: JPEGOptions
    let flag: CancellationFlag

    func run(_ limits: [ByteCount]) throws(JPEGError) -> [JPEGCurvePoint] {
        try options.check()
        // Read the file once, so that all points of the curve use the same content even if the file changes.
        let input = try inMemoryInput()
        let metric = try metric(of: input)
        var points: [JPEGCurvePoint] = []
        for limit in limits {
            var options = options
            options.maxBytes = limit
            if options.onFailure == .sendOriginal { options.onFailure = .fail }
            do throws(JPEGError) {
                let result = try Recompression(input: input, options: options, flag: flag).run()
                let deviation = metric.distance(to: try level(of: result.bytes, metric))
                points.append(JPEGCurvePoint(limit: limit, report: result.report, deviation: deviation))
            } catch {
                guard error.code == .cannotReachLimit else { throw error }
            }
        }
        return points
    }

    private func inMemoryInput() throws(JPEGError) -> JPEGInput {
        guard case .file(let path) = input else { return input }
        return .bytes(try PhotoFile.read(path, upTo: JPEGBounds.inputBytes))
    }

    private func metric(of input: JPEGInput) throws(JPEGError) -> SimilarityMetric {
        let source = try Recompression(input: input, options: options, flag: flag).source()
        let largest = source.upright.capped(atSide: SimilarityMetric.finestSide)
        let loader = ImageLoader(source: source, isLinear: options.isDocument, flag: flag)
        return SimilarityMetric(try loader.load(largest, eighths: 8), isFine: true, sizeBias: 0)
    }

    private func level(of bytes: [UInt8], _ metric: SimilarityMetric) throws(JPEGError) -> SimilarityMetric.Level {
        let source = try ImageSource(file: bytes)
        let loader = ImageLoader(source: source, isLinear: false, flag: flag)
        return metric.level(of: try loader.load(source.upright, eighths: 8))
    }
}
